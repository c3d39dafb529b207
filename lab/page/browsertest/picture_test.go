package browsertest

import (
	"bytes"
	"cmp"
	"flag"
	"image"
	"image/color"
	"image/png"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/chromedp/chromedp"
)

var update = flag.Bool("update", false, "write the pictures of the documentation")

// documented are the pictures of docs/lab-page.md.
var documented = []string{"requests", "denied", "object", "levels", "access"}

// maxPicture is the size up to which a picture may be in the documentation.
const maxPicture = 150 << 10

// picture takes a picture of the window; with -update the documented ones become docs/images/lab-NAME.png.
func (tb *tab) picture(name string) image.Image {
	tb.t.Helper()
	img, err := png.Decode(bytes.NewReader(get(tb, chromedp.CaptureScreenshot())))
	if err != nil {
		tb.t.Fatal(err)
	}
	small := paletted(img)
	var out bytes.Buffer
	if err := (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&out, small); err != nil {
		tb.t.Fatal(err)
	}
	dir := tb.t.ArtifactDir()
	if *update && slices.Contains(documented, name) {
		dir = filepath.Join("..", "..", "..", "docs", "images")
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		tb.t.Fatal(err)
	}
	if out.Len() > maxPicture {
		tb.t.Errorf("picture %s has %d bytes, at most %d", name, out.Len(), maxPicture)
	}
	if err := os.WriteFile(filepath.Join(dir, "lab-"+name+".png"), out.Bytes(), 0o644); err != nil {
		tb.t.Fatal(err)
	}
	return img
}

// paletted returns a picture with 256 colours, which takes a third of the bytes: the most frequent one of each small part of
// the space of colours.
func paletted(img image.Image) image.Image {
	counts := map[color.RGBA]int{}
	b := img.Bounds()
	for y := b.Min.Y; y < b.Max.Y; y++ {
		for x := b.Min.X; x < b.Max.X; x++ {
			counts[color.RGBAModel.Convert(img.At(x, y)).(color.RGBA)]++
		}
	}
	type part struct {
		colour      color.RGBA
		most, total int
	}
	parts := map[[3]uint8]*part{}
	for c, n := range counts {
		at := [3]uint8{c.R >> 4, c.G >> 4, c.B >> 4}
		p := parts[at]
		if p == nil {
			p = &part{}
			parts[at] = p
		}
		p.total += n
		if n > p.most || n == p.most && (c.R < p.colour.R || c.R == p.colour.R && c.G < p.colour.G) {
			p.colour, p.most = c, n
		}
	}
	var palette color.Palette
	for _, p := range slices.SortedFunc(maps.Values(parts), func(a, b *part) int {
		return cmp.Or(b.total-a.total, int(a.colour.R)-int(b.colour.R), int(a.colour.G)-int(b.colour.G))
	}) {
		if len(palette) < 256 {
			palette = append(palette, p.colour)
		}
	}
	out := image.NewPaletted(b, palette)
	near := map[color.RGBA]uint8{}
	for y := b.Min.Y; y < b.Max.Y; y++ {
		for x := b.Min.X; x < b.Max.X; x++ {
			c := color.RGBAModel.Convert(img.At(x, y)).(color.RGBA)
			i, ok := near[c]
			if !ok {
				i = uint8(palette.Index(c))
				near[c] = i
			}
			out.SetColorIndex(x, y, i)
		}
	}
	return out
}
