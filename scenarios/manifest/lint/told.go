package lint

import (
	"time"

	"github.com/quiesce/quiesce/internal/grace"
	"github.com/quiesce/quiesce/scenarios/manifest"
)

const variable = grace.Variable

// told is the grace that a process is told, when that is known and can be read.
func told(p *manifest.Process) (time.Duration, bool) {
	if p.Told == "" {
		return 0, false
	}
	return grace.Parse(p.Told)
}

func toldUnreadable(v *view) {
	for _, p := range v.Processes {
		if _, ok := told(&p); p.Told != "" && !ok {
			v.report(Error, p.ToldLine, variable, "write "+v.ToldSetting(v.left(0)), "%q is not a duration, and the worker refuses to start", p.Told)
		}
	}
}

// known is what a process has after its hook, and how surely: a hook may take longer than is seen,
// and one that tells the worker takes nothing.
func (v *view) leftFor(p *manifest.Process) (left time.Duration, sure bool) {
	hook := v.hook(p)
	switch {
	case hook == nil:
		return v.left(0), true
	case hook.Known:
		return v.left(hook.Duration), !hook.AtLeast
	}
	return v.left(0), false
}

func toldTooMuch(v *view) {
	for _, p := range v.Processes {
		d, ok := told(&p)
		left, _ := v.leftFor(&p)
		if !ok || v.Unfit != nil || d <= left || !v.fits(left) {
			continue
		}
		remedy := "write " + v.ToldSetting(left)
		if hook := v.hook(&p); hook != nil && hook.Known {
			v.report(Error, p.ToldLine, variable, remedy, "is %s, and the worker has %s: %s less the %s that its preStop hook sleeps", short(d), short(left), v.GraceName()+" "+short(v.Grace), short(hook.Duration))
			continue
		}
		if raise, ok := v.least(0, func(left time.Duration) bool { return left >= d }); ok && !v.Supervisor.Habits().Fixed() {
			remedy += ", or " + v.GraceSetting(raise)
		}
		v.report(Error, p.ToldLine, variable, remedy, "is %s, and %s: SIGKILL comes %s before the worker expects it", short(d), v.graceStands(), short(d-left))
	}
}

func toldTooLittle(v *view) {
	for _, p := range v.Processes {
		d, ok := told(&p)
		left, sure := v.leftFor(&p)
		if !ok || !sure || v.Unfit != nil || d >= left || v.Grace == manifest.Forever || !v.fits(d) {
			continue
		}
		v.report(Warning, p.ToldLine, variable, "write "+v.ToldSetting(left), "is %s, and the worker has %s: it hands back jobs that had %s more", short(d), short(left), short(left-d))
	}
}
