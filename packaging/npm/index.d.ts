/** Settings of {@link startServer}. */
export interface Options {
  /** Path of the server. The default is that of {@link binaryPath}. */
  binary?: string;
  /** Whether the server has the lab: checkpoints, faults and a clock that can be moved. The default is true. */
  lab?: boolean;
  /** Further flags of the server, such as `--emulated-version=1.36`. */
  flags?: string[];
  /** Where the log of the server goes. The default is the standard error of this process. */
  stderr?: 'inherit' | 'ignore';
}

/** Starts a server with nothing in it on a free port of 127.0.0.1, and waits until it is ready. It takes a fraction of a second. */
export function startServer(options?: Options): Promise<Server>;

/** Returns the path of the server: `MINIAPISERVER_BINARY` in the environment, or else that of the package for this platform. */
export function binaryPath(): string;

/** A running server. It ends with {@link Server.stop} or with this process, and leaves nothing behind. */
export interface Server {
  /** Address, such as `https://127.0.0.1:38417`. */
  readonly url: string;
  /** Address of the port for plain HTTP, if `flags` has `--insecure-port=-1`. */
  readonly insecureURL?: string;
  /** PEM of the certificate authority of `url`. */
  readonly ca: string;
  /** Bearer token of the administrator. */
  readonly token: string;
  /** Path of a kubeconfig with the administrator's access. */
  readonly kubeconfig: string;
  /** Address of the page of the lab, for a browser. */
  readonly labPage?: string;
  readonly pid: number;
  readonly lab: Lab;
  /**
   * Sends a request as the administrator and returns the JSON of the response. An answer of 400 or more is an `Error`
   * whose `code` is the status.
   */
  request(method: string, path: string, body?: unknown, contentType?: string): Promise<any>;
  /** Stops the server, and returns when it has ended. */
  stop(): Promise<void>;
}

/** What a server with the lab can do beyond the Kubernetes API: docs/lab.md of the project describes it. */
export interface Lab {
  /** Keeps the present state of all objects under a name, and returns the name. */
  checkpoint(name?: string): Promise<string>;
  /** Goes back to a checkpoint. Watches and informers see ordinary events. */
  rewind(checkpoint: string, options?: RewindOptions): Promise<RewindStatus>;
  /** Has requests misbehave until the fault is removed. */
  inject(fault: FaultSpec, name?: string): Promise<Fault>;
  /** Removes all faults. */
  calm(): Promise<void>;
  readonly clock: Clock;
}

export interface RewindOptions {
  namespaces?: string[];
  resources?: string[];
  /** What a rewind leaves as it is otherwise. */
  include?: ('leases' | 'events' | 'addresses')[];
  dryRun?: boolean;
}

export interface RewindStatus {
  resourceVersion?: string;
  restored: number;
  changed: number;
  removed: number;
  objects?: { object: string; action: 'Restored' | 'Changed' | 'Removed' }[];
}

export interface FaultSpec {
  /** Requests that the fault may hit. An empty list stands for all. */
  match?: {
    users?: string[];
    userAgents?: string[];
    verbs?: string[];
    /** Such as `pods`, `deployments.apps` or `deployments.apps/status`. */
    resources?: string[];
    namespaces?: string[];
    names?: string[];
  };
  when?: { skip?: number; times?: number; percent?: number; seed?: number; per?: 'Fault' | 'Client' | 'Object' };
  /** One of these. Durations are texts such as `100ms`. */
  inject:
    | { error: { code: number; message?: string; retryAfterSeconds?: number } }
    | { delay: { min: string; max?: string } }
    | { lose: 'Request' | 'Response' }
    | { conflict: {} }
    | { watch: { close: { afterEvents?: number } } | { freeze: string } | { delay: string } | { expire: {} } | { noBookmarks: {} } }
    | { compact: {} }
    | { shuffle: {} };
}

export interface Fault {
  /** How many requests it matched and hit. */
  status(): Promise<{ matched: number; injected: number }>;
  remove(): Promise<void>;
}

/** The clock of the server, by which it stamps objects and decides what is due. Its methods return its time. */
export interface Clock {
  now(): Promise<Date>;
  /** Moves the clock forward. What falls due has happened when the promise resolves. */
  advance(milliseconds: number): Promise<Date>;
  freeze(): Promise<Date>;
  /** Has the clock show the real time again. */
  reset(): Promise<Date>;
}
