local function field(value, path)
  for _, key in ipairs(path) do
    if type(value) ~= "table" then return nil end
    value = value[key]
  end
  return value
end
local function condition(name, key)
  for _, entry in ipairs(field(obj, {"status", "conditions"}) or {}) do
    if entry.type == name then return entry[key] end
  end
end
if WANTED then
  return {status = "Healthy", message = "as planned"}
end
FAILED
return {status = "Progressing", message = "not yet as planned"}
