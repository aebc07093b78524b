package sim

// Jobs that a process has claimed beyond what it works on wait in it for a slot. To its machine
// their handlers run: they are renewed, and told of the stop, like the others. A handler that
// has not begun gives its job back the moment it is told anything.

// startWaiting begins the jobs that have waited longest, as far as slots are free. Undo takes
// up the slot of its handler.
func (w *World) startWaiting(p *process) {
	if w.sc.Fleet.Prefetch == 0 || p.state != seatUp {
		return
	}
	for {
		next, taken := -1, 0
		for i := range p.execs {
			switch x := &p.execs[i]; x.state {
			case execWaits:
				if next < 0 || x.began < p.execs[next].began {
					next = i
				}
			case execWorks, execIsDeaf, execLeaves, execUndoes:
				taken++
			}
		}
		if next < 0 || taken >= w.sc.Fleet.Slots {
			return
		}
		w.startExecution(p, next)
	}
}

// softenWaiting is what a job that waits makes of the soft word of a drain.
func (w *World) softenWaiting(p *process, slot int) {
	if p.execs[slot].state == execWaits {
		w.returnWaiting(p, slot)
	}
}

// returnWaiting gives a job back that has not begun.
func (w *World) returnWaiting(p *process, slot int) {
	x := &p.execs[slot]
	x.state, x.endAt = execReturns, w.now
	x.turn++
	w.scheduleHandler(p, slot)
}
