local status = obj.status or {}
local health = (status.health or {}).status
local operation = status.operationState or {}
local phase, tries = operation.phase, operation.retryCount or 0
local synced = phase == "Succeeded" or (phase == nil and (status.sync or {}).status == "Synced")
if health == "Healthy" and synced then
  return {status = "Healthy", message = "synced"}
end
local message = "health " .. (health or "unknown") .. ", sync " .. (phase or "not begun")
if operation.message ~= nil and phase ~= "Succeeded" then
  message = message .. ": " .. operation.message
end
if health == "Degraded" or phase == "Failed" or phase == "Error" or (phase == "Running" and tries >= 5) then
  return {status = "Degraded", message = message}
end
return {status = "Progressing", message = message}
