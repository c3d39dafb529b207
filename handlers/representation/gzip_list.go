package representation

import "github.com/miniapiserver/miniapiserver/storage"

// gzipList sends a large list compressed, in cached parts.
type gzipList struct {
	list  listEncoding
	view  *View
	items Encodables
	parts *partCache
	out   *listOutput

	b, raw []byte // compressed output; input of the next part
	sum    gzipSum
}

// writeGzipList writes a list compressed, before any of it was sent.
func (v *View) writeGzipList(out *listOutput, l listEncoding, items Encodables) error {
	out.gzip = true
	g := gzipList{list: l, view: v, items: items, parts: v.codec.codecs.parts, out: out, b: append((*out.buf)[:0], gzipHead...)}
	return out.fail(g.write())
}

func (g *gzipList) write() error {
	head, err := g.list.head(nil)
	if err == nil {
		err = g.compress(head)
	}
	cacheable, _ := g.items.(storedItems)
	if g.view.as == asTable {
		cacheable = nil // rows contain ages
	}
	for start := 0; start < g.items.len() && err == nil; {
		if cacheable != nil {
			end := g.parts.end(cacheable, start)
			err = g.cachedPart(cacheable, start, end)
			start = end
			continue
		}
		end := min(start+partItems, g.items.len())
		if err = g.encode(start, end); err == nil {
			err = g.compress(g.raw)
		}
		start = end
	}
	if err == nil {
		err = g.compress(g.list.tail(nil))
	}
	if err == nil {
		_, err = g.out.send(g.sum.end(g.b))
	}
	return err
}

// cachedPart sends some of the items, and compresses them unless the cache has the same
// part.
func (g *gzipList) cachedPart(items []*storage.Item, start, end int) error {
	var key partKey
	key, g.raw = g.view.partKey(items[start:end], start == 0, g.raw)
	p := g.parts.get(key)
	if p == nil {
		err := g.encode(start, end)
		if err != nil {
			return err
		}
		if p, err = compressPart(g.raw); err != nil {
			return err
		}
		g.parts.put(key, p)
	}
	return g.add(p)
}

// encode writes the encoding of some of the items to g.raw.
func (g *gzipList) encode(start, end int) (err error) {
	g.raw = g.raw[:0]
	for i := start; i < end && err == nil; i++ {
		g.raw, err = g.list.item(g.raw, i)
	}
	return err
}

func (g *gzipList) compress(raw []byte) error {
	p, err := compressPart(raw)
	if err != nil {
		return err
	}
	return g.add(p)
}

func (g *gzipList) add(p *gzipPart) (err error) {
	g.b = g.sum.add(g.b, p)
	if len(g.b) >= listChunk {
		g.b, err = g.out.send(g.b)
	}
	return err
}
