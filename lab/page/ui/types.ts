// The kinds of the lab as JSON. The contract is lab/v1alpha1/types.go.

export interface Meta {
  name: string;
  namespace?: string;
  uid?: string;
  resourceVersion?: string;
  creationTimestamp?: string;
  ownerReferences?: { apiVersion: string; kind: string; name: string; uid: string; controller?: boolean }[];
  managedFields?: ManagedFields[];
  [field: string]: unknown;
}

export interface ManagedFields {
  manager: string;
  operation: string;
  subresource?: string;
  time?: string;
  fieldsV1?: Record<string, unknown>;
}

export interface KubeObject {
  apiVersion?: string;
  kind?: string;
  metadata: Meta;
  [field: string]: unknown;
}

export interface List<T> {
  metadata: { resourceVersion?: string; continue?: string };
  items: T[] | null;
}

export interface Step {
  name: string;
  start: number;
  microseconds?: number;
  facts?: Record<string, string>;
}

export interface FieldChange {
  path: string;
  before?: string;
  after?: string;
  by?: string;
}

export interface NearRule {
  binding: string;
  role: string;
  rule: string;
  lacks: string[];
}

export interface Missing {
  verb: string;
  group?: string;
  resource?: string;
  namespace?: string;
  name?: string;
  path?: string;
  nearest?: NearRule[];
}

export interface Cause {
  by: string;
  name?: string;
  message?: string;
  expression?: string;
  fields?: { path?: string; type?: string; message?: string }[];
  missing?: Missing;
  writes?: {
    request?: string;
    user?: string;
    manager?: string;
    time?: string;
    resourceVersion?: string;
    fields?: FieldChange[];
  }[];
}

export interface WatchStatus {
  events: number;
  bookmarks?: number;
  lag?: string;
  ended?: string;
}

export interface LabRequest {
  metadata: Meta;
  spec: {
    time: string;
    verb: string;
    method: string;
    uri: string;
    user?: string;
    groups?: string[];
    impersonator?: string;
    sourceIP?: string;
    userAgent?: string;
    group?: string;
    version?: string;
    resource?: string;
    namespace?: string;
    objectName?: string;
    dryRun?: boolean;
    fieldManager?: string;
    contentType?: string;
    bodyBytes?: number;
    bodyDigest?: string;
  };
  status: {
    phase: string;
    code?: number;
    reason?: string;
    message?: string;
    why?: string;
    took?: string;
    microseconds?: number;
    responseBytes?: number;
    warnings?: string[];
    steps?: Step[];
    changes?: FieldChange[];
    hidden?: string;
    stored?: { uid?: string; resourceVersion?: string; retries?: number };
    cause?: Cause;
    watch?: WatchStatus;
  };
}

export interface Change {
  metadata: Meta;
  spec: {
    object: string;
    apiVersion: string;
    kind: string;
    type: string;
    resourceVersion: string;
    previous?: string;
    time?: string;
    user?: string;
    manager?: string;
    request?: string;
    verb?: string;
    fields?: FieldChange[];
    hidden?: string;
    after?: string;
  };
}

/** A resource that the API serves, from discovery. */
export interface Resource {
  group: string;
  version: string;
  resource: string;
  kind: string;
  namespaced: boolean;
  verbs: string[];
}
