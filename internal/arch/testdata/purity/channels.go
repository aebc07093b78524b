package fixture

type mailbox chan int // want: channel

type worker struct {
	name string
	stop chan struct{} // want: channel
}

func (w *worker) run(
	in mailbox, // want: channel
) {
	for range in { // want: channel
	}
	in <- 1  // want: channel
	<-w.stop // want: channel
	select { // want: channel
	default:
	}
	close(in) // want: channel
	_ = w.name
}
