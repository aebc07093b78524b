package main

import "github.com/spf13/cobra"

func (a *app) replayCommand() *cobra.Command {
	return &cobra.Command{Use: "replay", RunE: func(*cobra.Command, []string) error { return nil }}
}
