-- How what is parked gets out again.

-- revive makes a dead-lettered or quarantined job claimable, in its old place, with all of its
-- budgets and its cursor.
local function revive(id, s)
  local J = jobs()
  J.unplace(id)
  s[J.FAILURES], s[J.POISON], s[J.FRUITLESS] = 0, 0, 0
  J.store(id, s)
  J.ready(id)
  count('redriven')
end
