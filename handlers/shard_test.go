package handlers

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/miniapiserver/miniapiserver/internal/eventually"
	"github.com/miniapiserver/miniapiserver/internal/features"

	corev1 "k8s.io/api/core/v1"

	"github.com/miniapiserver/miniapiserver/handlers/representation"
	"github.com/miniapiserver/miniapiserver/internal/seriestest"
)

const (
	lowerShard = "shardRange(object.metadata.uid, '0x0000000000000000', '0x8000000000000000')"
	upperShard = "shardRange(object.metadata.uid, '0x8000000000000000', '0x10000000000000000')"
)

// TestShards checks that the lists and the watches of two shards have every object once, page by
// page, and that without the gate the selector has no effect.
func TestShards(t *testing.T) {
	h := newHandler(t, func(c *Config) { c.Gates[features.ShardedListAndWatch] = true })
	var names []string
	for i := range 40 {
		names = append(names, fmt.Sprintf("m%02d", i))
	}
	addMaps(t, h, names...)
	list := func(h *Handler, selector, query, accept string) *corev1.ConfigMapList {
		t.Helper()
		w := sendText(t, h, http.MethodGet, "/api/v1/configmaps?shardSelector="+url.QueryEscape(selector)+query, "", "Accept", accept)
		got := &corev1.ConfigMapList{}
		if w.Code != http.StatusOK || accept == representation.MediaJSON && json.Unmarshal(w.Body.Bytes(), got) != nil {
			t.Fatalf("%d %s", w.Code, w.Body)
		}
		return got
	}
	found := map[string]int{}
	for _, shard := range []string{lowerShard, upperShard} {
		all := list(h, shard, "", representation.MediaJSON)
		if all.ShardInfo == nil || all.ShardInfo.Selector != shard || len(all.Items) == 0 || len(all.Items) == len(names) {
			t.Errorf("%d items of %+v", len(all.Items), all.ListMeta)
		}
		next, read := "", 0
		for {
			page := list(h, shard, "&limit=3&continue="+next, representation.MediaJSON)
			for _, m := range page.Items {
				found[m.Name]++
			}
			if read += len(page.Items); page.RemainingItemCount != nil {
				t.Errorf("%d items remain in a filtered list", *page.RemainingItemCount)
			}
			if next = page.Continue; next == "" {
				break
			}
		}
		if read != len(all.Items) {
			t.Errorf("%d items in pages, %d at once", read, len(all.Items))
		}
		table := sendText(t, h, http.MethodGet, "/api/v1/configmaps?shardSelector="+url.QueryEscape(shard), "",
			"Accept", "application/json;as=Table;g=meta.k8s.io;v=v1").Body.String()
		if strings.Contains(table, "shardInfo") || strings.Count(table, `"cells"`) != len(all.Items) {
			t.Errorf("the table is %s", table)
		}
	}
	if got := slices.Sorted(maps.Keys(found)); !slices.Equal(got, names) || slices.Max(slices.Collect(maps.Values(found))) != 1 {
		t.Errorf("the shards have %v", found)
	}
	if both := list(h, lowerShard+" || ("+upperShard+")", "", representation.MediaJSON); len(both.Items) != len(names) {
		t.Errorf("both shards have %d objects", len(both.Items))
	}
	seen := map[string]int{}
	for _, shard := range []string{lowerShard, upperShard} {
		s := serveOver(t, h, false)
		w, events := open(t, s, "&shardSelector="+url.QueryEscape(shard)+"&resourceVersion=0")
		if got, err := seriestest.Read(h.Metrics); err != nil || got[`apiserver_watch_shards_total{group="",resource="configmaps"}`] < 1 {
			t.Errorf("metrics during the watch: %v, %v", got, err)
		}
		for range list(h, shard, "", representation.MediaJSON).Items {
			seen[next(t, events).Object.Metadata.Name]++
		}
		w.Body.Close()
	}
	if !maps.Equal(seen, found) {
		t.Errorf("the watches have %v", seen)
	}
	got, err := seriestest.Read(h.Metrics)
	const labels = `{group="",resource="configmaps"}`
	if name := "apiserver_watch_filtered_events_total" + labels; err != nil || got[name] != float64(len(names)) {
		t.Errorf("%s is %g, %v", name, got[name], err)
	}
	eventually.True(t, "the end of the watches in the metric", func() bool {
		got, err := seriestest.Read(h.Metrics)
		open, known := got["apiserver_watch_shards_total"+labels]
		return err == nil && known && open == 0
	})
	h.Gates[features.ShardedListAndWatch] = false
	if all := list(h, "junk", "", representation.MediaJSON); len(all.Items) != len(names) || all.ShardInfo != nil {
		t.Errorf("without the gate: %+v", all.ListMeta)
	}
}

// TestParseShardSelector checks the errors for invalid selectors.
func TestParseShardSelector(t *testing.T) {
	for text, want := range map[string]string{
		lowerShard: "",
		` shardRange(object.metadata.namespace,"0x0000000000000000","0x0000000000000001") `: "",
		" ":            "empty shard selector",
		"shardRange(":  "CEL parse error",
		"true":         "unexpected expression kind",
		"hash(object)": `unsupported function "hash"`,
		"a.shardRange(object.metadata.uid, '0x0000000000000000', '0x8000000000000000')":                      "unsupported function",
		lowerShard + " && " + upperShard:                                                                     "unsupported function",
		"shardRange(object.metadata.uid)":                                                                    "requires exactly 3 arguments, got 1",
		"shardRange('x', '0x0000000000000000', '0x8000000000000000')":                                        "expected field path",
		"shardRange(object.metadata.name, '0x0000000000000000', '0x8000000000000000')":                       "unsupported field path",
		"shardRange(object.metadata.uid, 1, '0x8000000000000000')":                                           "hexStart must be a string literal",
		"shardRange(object.metadata.uid, '0x0000000000000000', '8000000000000000')":                          "hexEnd must have '0x' prefix",
		"shardRange(object.metadata.uid, '0x0', '0x8000000000000000')":                                       "16-digit",
		"shardRange(object.metadata.uid, '0x000000000000000g', '0x8000000000000000')":                        "hexadecimal",
		"shardRange(object.metadata.uid, '0x0000000000000000', '0x10000000000000001')":                       "16-digit",
		"shardRange(object.metadata.uid, '0x8000000000000000', '0x8000000000000000')":                        "must be less than end",
		lowerShard + " || shardRange(object.metadata.namespace, '0x0000000000000000', '0x8000000000000000')": "must use the same field",
		strings.Repeat(lowerShard+"||", maxShardRanges) + upperShard:                                         "more than 128 ranges",
		strings.Repeat("(", maxShardSelector) + lowerShard + strings.Repeat(")", maxShardSelector):           "longer than",
	} {
		s, err := parseShardSelector(text)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%.80s: %v, want %q", text, err, want)
		}
		if err == nil && s.Empty() {
			t.Errorf("%s selects everything", text)
		}
	}
	deep := strings.Repeat("(", 5000) + lowerShard + strings.Repeat(")", 5000)
	if _, err := parseShardSelector(deep); err == nil {
		t.Error("a deep expression is accepted")
	}
	h := newHandler(t, func(c *Config) { c.Gates[features.ShardedListAndWatch] = true })
	for _, query := range []string{"", "&watch=1"} {
		if w := sendText(t, h, http.MethodGet, "/api/v1/configmaps?shardSelector=junk"+query, ""); w.Code != http.StatusBadRequest || !strings.Contains(w.Body.String(), "invalid shard selector: ") {
			t.Errorf("%d %s", w.Code, w.Body)
		}
	}
}
