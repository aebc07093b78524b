package fixture

import (
	"context"         // want: import
	"crypto/rand"     // want: import
	"hash/maphash"    // want: import
	"log"             // want: import
	"log/slog"        // want: import
	mrand "math/rand" // want: import
	v2 "math/rand/v2" // want: import
	"net"             // want: import
	"net/http"        // want: import
	"os"              // want: import
	"os/signal"       // want: import
	"reflect"         // want: import
	"runtime"         // want: import
	"runtime/debug"   // want: import
	"sort"
	"sync"        // want: import
	"sync/atomic" // want: import
	"syscall"     // want: import
	_ "time"      // want: import
	"unsafe"      // want: import
)

var (
	_ context.Context
	_ = rand.Reader
	_ maphash.Hash
	_ log.Logger
	_ slog.Logger
	_ *mrand.Rand
	_ *v2.Rand
	_ net.IP
	_ http.Header
	_ os.FileMode
	_ = signal.Reset
	_ reflect.Kind
	_ = runtime.GC
	_ = debug.FreeOSMemory
	_ = sort.Ints
	_ sync.Mutex
	_ atomic.Int64
	_ syscall.Errno
	_ unsafe.Pointer
)
