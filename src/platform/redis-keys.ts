/**
 * Every Redis key of the service but BullMQ's own. What must be touched together carries the same hash tag {...}, so
 * that it lies on one node of a Redis Cluster.
 */
export interface RedisKeys {
  /** The answer to one call, as its caller got it. */
  callAnswer(callId: string): string;
  /** The newest answer that any account may be given. */
  sharedAnswer(presentationId: string): string;
  /** A shared answer that a newer one has replaced, for callers who join a call that was given it. */
  replacedAnswer(presentationId: string, version: string): string;
  /** The body of an answer that is too large to be kept in it; `owner` is the answer's key. */
  body(owner: string, version: string): string;
  /** Present while a caller may come back for the answer to a call. */
  keepAnswer(callId: string): string;
  /** Raw data of one source. */
  source(identity: string): string;
  /** Held by the process that is fetching a source; a forced fetch is another flight. */
  flight(identity: string, forced: boolean): string;
  /** Present while somebody follows that fetch. */
  followed(identity: string, forced: boolean): string;
  /** Channel on which the end of a flight is told. */
  flightsChannel: string;
  /** Channel on which the end of a job is told. */
  jobsChannel: string;
  /** Channel on which workers are told what to do with a job they run. */
  controlChannel: string;
  /** Present while others than its first caller wait for a job. */
  joined(callId: string): string;
  /** A request body on its way to the worker that reads it, in pieces. */
  upload(uploadId: string): string;
  /** What that worker says to it. */
  reply(uploadId: string): string;
  /** Channel on which such replies are told. */
  repliesChannel: string;
  /** Channel on which it is told that batches have changed. */
  batchesChannel: string;
  /** The upstream token bucket of one provider. */
  tokens(provider: string): string;
  /** When calls may be sent to one rate-limited endpoint of a provider, for all workers. */
  pacing(endpoint: string): string;
  /** The cookie that a provider wants to see again. */
  cookie(provider: string): string;
  /** Workers alive in a pool. */
  workers(pool: string): string;
  /** Prefix of the counters of attempts to sign in, by account or by address. */
  attempts(kind: string): string;
  /** Prefix of a pool's queue. */
  queuePrefix(pool: string): string;
}

export function redisKeys(namespace: string): RedisKeys {
  return {
    callAnswer: (callId) => `${namespace}:answer:{${callId}}`,
    sharedAnswer: (presentationId) => `${namespace}:answer:{${presentationId}}`,
    replacedAnswer: (presentationId, version) => `${namespace}:answer:{${presentationId}}:${version}`,
    body: (owner, version) => `${owner}:body:${version}`,
    keepAnswer: (callId) => `${namespace}:answer:{${callId}}:keep`,
    source: (identity) => `${namespace}:source:{${identity}}`,
    flight: (identity, forced) => `${namespace}:source:{${identity}}:${forced ? 'forced' : 'flight'}`,
    followed: (identity, forced) =>
      `${namespace}:source:{${identity}}:${forced ? 'forced' : 'flight'}:followed`,
    flightsChannel: `${namespace}:flights`,
    jobsChannel: `${namespace}:jobs`,
    controlChannel: `${namespace}:control`,
    joined: (callId) => `${namespace}:joined:{${callId}}`,
    reply: (uploadId) => `${namespace}:upload:{${uploadId}}:reply`,
    repliesChannel: `${namespace}:replies`,
    batchesChannel: `${namespace}:batches`,
    upload: (uploadId) => `${namespace}:upload:{${uploadId}}`,
    tokens: (provider) => `${namespace}:tokens:{${provider}}`,
    pacing: (endpoint) => `${namespace}:pacing:{${endpoint}}`,
    cookie: (provider) => `${namespace}:cookie:{${provider}}`,
    workers: (pool) => `${namespace}:workers:{${pool}}`,
    attempts: (kind) => `${namespace}:attempts:${kind}`,
    queuePrefix: (pool) => `{${namespace}-${pool}}`,
  };
}
