// Package local runs a redis-server of one's own: for tests, for benchmarks, and for commands
// that need one for as long as they run.
//
//	server, err := local.Start(ctx, local.Options{})
//	if err != nil {
//		return err // says how to install redis-server when it is missing
//	}
//	defer server.Close()
//	broker, err := redis.Open(ctx, redis.Options{URL: server.URL(), …})
//
// It listens on a socket in a directory of its own, so it meets no other server, and it ends
// with the process that started it wherever the platform can promise that (Linux). Without
// further arguments it keeps nothing on disk.
package local
