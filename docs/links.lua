-- For `make docs`: links between the Markdown files become links between the pages made of them.
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

-- The title of a picture says how it was cut out, which is nobody's tooltip.
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

-- A browser would break --denoise behind its dashes. Words that fill a narrow screen may break.
local function whole_words(text)
    local escaped = text:gsub("[&<>]", { ["&"] = "&amp;", ["<"] = "&lt;", [">"] = "&gt;" })
    return (escaped:gsub("%S+", function(word)
        return #word <= 36 and word:find("-", 1, true) and "<span>" .. word .. "</span>" or word
    end))
end

function Code(code)
    return pandoc.RawInline("html", "<code>" .. whole_words(code.text) .. "</code>")
end

-- Commands wrap, get a button that copies climg's lines, and stand out from other programs' lines and remarks. What is drawn with
-- characters scrolls.
local function command_lines(text)
    local lines, own, after_own = {}, {}, false
    for line in (text .. "\n"):gmatch("(.-)\n") do
        local class
        if line:match("^%s*#") then
            class = "remark"
        elseif line:match("^%s*$") then
            class, after_own = nil, false
        elseif line:match("climg") or (after_own and line:match("^%s")) then
            class, after_own = "own", true
            own[#own + 1] = line
        else
            class, after_own = "other", false
        end
        local whole = whole_words(line)
        lines[#lines + 1] = class and '<span class="' .. class .. '" style="white-space: inherit">' .. whole .. "</span>" or whole
    end
    return table.concat(lines, "\n"), table.concat(own, "\n")
end

function CodeBlock(block)
    if block.text:match("^[+|]") or block.text:match("──") then
        return pandoc.RawBlock("html", '<pre class="drawn"><code>' .. whole_words(block.text) .. "</code></pre>")
    end
    if not block.text:match("climg") then
        return pandoc.RawBlock("html", "<pre><code>" .. whole_words(block.text) .. "</code></pre>")
    end
    local html, own = command_lines(block.text)
    local command = own:gsub("&", "&amp;"):gsub('"', "&quot;"):gsub("<", "&lt;")
    return pandoc.RawBlock("html", '<div class="command" data-command="' .. command .. '"><pre><code>' .. html .. "</code></pre></div>")
end

-- Tables are as wide as what is in them.
function Table(table)
    for i, column in ipairs(table.colspecs) do
        table.colspecs[i] = { column[1], nil }
    end
    return table
end
