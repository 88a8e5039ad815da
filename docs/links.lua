-- For `make docs`: links between the Markdown files become links between their pages.
local pages = { ["README.md"] = "index.html", ["workflows/README.md"] = "workflows.html" }

local function page(target)
    local file, part = target:match("^([^#]*)(.*)$")
    if file:match("^%a+:") or file == "" then
        return target
    end
    file = file:gsub("^%.%./", ""):gsub("^docs/", "")
    return (pages[file] or file:gsub("%.md$", ".html")) .. part
end

function Link(link)
    link.target = page(link.target)
    return link
end

-- The title of a picture is meant for make_pictures.py; it is no tooltip.
function Image(image)
    image.src = page(image.src)
    image.title = ""
    return image
end

-- The gallery shows small pictures that open at full size.
function Para(para)
    local first = para.content[1]
    if os.getenv("CLIMG_PAGE") == "gallery" and #para.content == 1 and first.t == "Image" then
        return pandoc.Para({ pandoc.Link({ first }, first.src, "", pandoc.Attr("", { "thumbnail" })) })
    end
end

-- A browser breaks --denoise after its dashes, and other words anywhere in narrow columns. Words that fill a narrow screen may break.
local function whole_words(text, longest)
    local escaped = text:gsub("[&<>]", { ["&"] = "&amp;", ["<"] = "&lt;", [">"] = "&gt;" })
    return (escaped:gsub("%S+", function(word)
        return #word <= (longest or 36) and #word > 1 and "<span>" .. word .. "</span>" or word
    end))
end

-- In the manual page, which is no Markdown, options and lists of values are plain text.
function Str(text)
    if os.getenv("CLIMG_PAGE") ~= "manual" then
        return nil
    elseif text.text:match("%w|%w") then
        return pandoc.RawInline("html", (whole_words(text.text):gsub("</?span>", ""):gsub("|", "|<wbr>")))
    elseif #text.text <= 44 and text.text:match("%-%-?%w") then
        return pandoc.RawInline("html", "<span class=\"whole\">" .. whole_words(text.text, 44):gsub("</?span>", "") .. "</span>")
    end
end

-- pandoc gives the headings of a manual page no identifiers, so that contents would not link to them: "--crop WxH" becomes "crop".
function Header(header)
    if header.identifier == "" then
        local text = ""
        for _, inline in ipairs(header.content) do
            text = text .. (inline.t == "RawInline" and inline.text:gsub("<[^>]*>", "") or pandoc.utils.stringify(inline))
        end
        header.identifier = (text:match("^%-%-([%w%-]+)") or text):lower():gsub("%s+", "-")
        return header
    end
end

function Code(code)
    return pandoc.RawInline("html", "<code>" .. whole_words(code.text, 44) .. "</code>")
end

-- Commands wrap, have a button that copies climg's lines, and are bolder than other programs' lines and remarks. Drawings and
-- tables made of characters scroll.
local function command_lines(text)
    local lines, own, after_own = {}, {}, false
    for line in (text .. "\n"):gmatch("(.-)\n") do
        local class
        if line:match("^%s*#") then
            class = "remark"
        elseif line:match("^%s*$") then
            class, after_own = nil, false
        elseif line:match("climg [%w%-]") or (after_own and line:match("^%s")) then
            class, after_own = "own", true
            own[#own + 1] = line:gsub("%s+#%s.*$", "")
        else
            class, after_own = "other", false
        end
        local command, remark = line:match("^(.*%S%s+)(#%s.*)$")
        local whole = class == "own" and remark and whole_words(command) .. '<span class="remark" style="white-space: inherit">' .. whole_words(remark) .. "</span>"
            or whole_words(line)
        lines[#lines + 1] = class and '<span class="' .. class .. '" style="white-space: inherit">' .. whole .. "</span>" or whole
    end
    return table.concat(lines, "\n"), table.concat(own, "\n")
end

function CodeBlock(block)
    local columns = block.text:match("^[^\n]*%S%s%s+%S[^\n]*%S%s%s+%S") and not block.text:match("climg")
    if columns or block.text:match("^[+|]") or block.text:match("──") then
        return pandoc.RawBlock("html", '<pre class="drawn"><code>' .. whole_words(block.text) .. "</code></pre>")
    end
    if not block.text:match("climg") then
        return pandoc.RawBlock("html", "<pre><code>" .. whole_words(block.text) .. "</code></pre>")
    end
    local html, own = command_lines(block.text)
    local command = (own ~= "" and own or block.text:gsub("%s+#%s[^\n]*", "")):gsub("&", "&amp;"):gsub('"', "&quot;"):gsub("<", "&lt;")
    return pandoc.RawBlock("html", '<div class="command" data-command="' .. command .. '"><pre><code>' .. html .. "</code></pre></div>")
end

-- Tables are as wide as their content.
function Table(table)
    for i, column in ipairs(table.colspecs) do
        table.colspecs[i] = { column[1], nil }
    end
    return table
end
