package fixture

func work() {}

func start() {
	go work()   // want: goroutine
	go func() { // want: goroutine
		work()
	}()
	defer work()
}
