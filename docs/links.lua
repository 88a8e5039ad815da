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

-- Commands wrap; what is drawn with characters scrolls.
function CodeBlock(block)
    local drawn = block.text:match("^[+|]") and ' class="drawn"' or ""
    return pandoc.RawBlock("html", "<pre" .. drawn .. "><code>" .. whole_words(block.text) .. "</code></pre>")
end

-- Tables are as wide as what is in them.
function Table(table)
    for i, column in ipairs(table.colspecs) do
        table.colspecs[i] = { column[1], nil }
    end
    return table
end
