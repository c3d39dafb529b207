package audit

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapiserver/miniapiserver/request"
)

// Event is an Event of audit.k8s.io/v1.
type Event struct {
	Level                    request.AuditLevel
	ID                       string
	Stage                    Stage
	RequestURI               string
	Verb                     string
	User                     *request.User // nil before authentication
	ImpersonatedUser         *request.User // nil if there is none
	Constraint               string        // the verb of constrained impersonation
	SourceIPs                []string
	UserAgent                string
	Object                   ObjectReference // empty unless IsResource is set
	IsResource               bool
	ResponseStatus           *metav1.Status // without its type
	RequestObject            []byte         // JSON
	ResponseObject           []byte         // JSON
	RequestReceivedTimestamp time.Time
	StageTimestamp           time.Time
	Annotations              []request.Annotation // sorted by key

	// described is the encoded part of the event that describes the request, if a later event of
	// the request may have the same; see describe. It is empty otherwise.
	described []byte
}

// ObjectReference is the object to which a request refers.
type ObjectReference struct {
	Resource, Namespace, Name, UID, Group, Version, ResourceVersion, Subresource string
}

// maxUserAgent is the length in bytes from which on a user agent is truncated.
const maxUserAgent = 1024

func truncateUserAgent(agent string) string {
	if len(agent) > maxUserAgent {
		return agent[:maxUserAgent] + "...TRUNCATED"
	}
	return agent
}
