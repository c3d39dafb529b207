package core_test

import (
	"testing"

	"github.com/miniapiserver/miniapiserver/internal/kindtest"
)

const componentStatus = `conditions: [{type: Healthy, status: "True", message: ok}]`

func TestComponentStatusColumns(t *testing.T) {
	kindtest.New(t, "componentstatuses.v1", componentStatus).Columns("Name|Status|Message|Error", kindtest.Cases{
		{"healthy", "", "x|Healthy|ok|"},
		{"unhealthy", `conditions: [{type: Healthy, status: "False", message: m, error: e}]`, "x|Unhealthy|m|e"},
		{"unknown", "conditions: []", "x|Unknown||"},
		{"another condition", `conditions: [{type: Ready, status: "True"}]`, "x|Unknown||"},
	})
}
