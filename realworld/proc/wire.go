package proc

// shimName is the name under which this program is started again to be a shim.
const shimName = "quiesce-shim"

// Descriptors of a shim beyond the child's own three. Those that it only holds follow.
const (
	fdOrders  = 3 // from the worker: bytes; the end of it is the worker's
	fdReports = 4 // to the worker: a report in JSON before the start, one after it and one at the end
	fdHeld    = 5
)

// Orders.
const (
	orderTerminate = 't' // SIGTERM to the child's process group
	orderKill      = 'k' // SIGKILL to everything
)

// report is what a shim tells.
type report struct {
	Cgroup string `json:"cgroup,omitempty"` // the folder of the child's control group, if it will have one

	PID   int    `json:"pid,omitempty"`   // the child was started
	Errno int    `json:"errno,omitempty"` // it could not be started
	Error string `json:"error,omitempty"`

	Ended  bool   `json:"ended,omitempty"` // everything is gone
	Status int    `json:"status,omitempty"`
	Signal string `json:"signal,omitempty"`
}
