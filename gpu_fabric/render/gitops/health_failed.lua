local state = field(obj, {"status", "state"})
for _, failed in ipairs({STATES}) do
  if state == failed then
    local reason = field(obj, {"status", "reason"}) or "no reason given"
    return {status = "Degraded", message = "state " .. state .. ": " .. reason}
  end
end
