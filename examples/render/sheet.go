package main

import (
	"context"
	"image"
	"image/color"
	"image/png"
	"os"
	"path/filepath"

	"github.com/quiesce/quiesce/protocol/worker"
)

const (
	columns = 4
	thumb   = 80 // pixels
)

// sheet puts all frames of a film on one contact sheet. It computes in this process, so it
// looks for its cancellation itself, once a frame.
func (r *renderer) sheet(ctx context.Context, job *worker.Job) error {
	f, err := readFilm(job)
	if err != nil {
		return err
	}
	rows := (f.Frames + columns - 1) / columns
	all := image.NewRGBA(image.Rect(0, 0, columns*thumb, rows*thumb))
	for n := range f.Frames {
		if err := job.Checkpoint(ctx); err != nil {
			return err
		}
		picture, err := readPicture(r.frame(f, n))
		if err != nil {
			return err
		}
		paste(all, n%columns*thumb, n/columns*thumb, picture)
	}
	out, err := job.Scope.Stage(filepath.Join(r.out, f.Name, "sheet.png"))
	if err != nil {
		return err
	}
	if err := out.Chmod(0o644); err != nil {
		return err
	}
	if err := png.Encode(out, all); err != nil {
		return err
	}
	return job.Checkpoint(ctx) // nobody says that it is done who has lost it
}

func readPicture(path string) (image.Image, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return png.Decode(f)
}

// paste shrinks a picture onto the sheet, nearest pixel first come.
func paste(on *image.RGBA, left, top int, picture image.Image) {
	b := picture.Bounds()
	for y := range thumb {
		for x := range thumb {
			c := picture.At(b.Min.X+x*b.Dx()/thumb, b.Min.Y+y*b.Dy()/thumb)
			on.SetRGBA(left+x, top+y, color.RGBAModel.Convert(c).(color.RGBA))
		}
	}
}
