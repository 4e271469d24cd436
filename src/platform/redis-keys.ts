/**
 * Returns all Redis keys of the service except BullMQ's. Keys that one script uses have the same hash tag {...}, so that they are
 * on one node of a Redis Cluster.
 */
export function redisKeys(namespace: string) {
  return {
    /** The prefix of all keys but those of queues. */
    namespace,
    callAnswer: (callId: string) => `${namespace}:answer:{${callId}}`,
    /** The newest answer of a presentation, shared by all accounts. */
    sharedAnswer: (presentationId: string) => `${namespace}:answer:{${presentationId}}`,
    /** A shared answer that a newer one replaced, for requests that join a call with the old answer. */
    replacedAnswer: (presentationId: string, version: string) =>
      `${namespace}:answer:{${presentationId}}:${version}`,
    /** The body of a large answer, stored separately; `owner` is the answer's key. */
    body: (owner: string, version: string) => `${owner}:body:${version}`,
    /** Present while a caller may poll for the answer of a call. */
    keepAnswer: (callId: string) => `${namespace}:answer:{${callId}}:keep`,
    /** Bytes of the answers that an account may poll, by the hour in which they were stored. */
    storedBytes: (accountId: number) => `${namespace}:stored:{${accountId}}`,
    /** Bytes of the answers of an account's calls that were answered directly, by the same hours. */
    directBytes: (accountId: number) => `${namespace}:stored:{${accountId}}:direct`,
    /** Raw data of one source. The number is the version of its format. */
    source: (identity: string) => `${namespace}:source:4:{${identity}}`,
    /** Held by the leader that fetches a source. A forced fetch is a separate flight. */
    flight: (identity: string, forced: boolean) =>
      `${namespace}:source:{${identity}}:${forced ? 'forced' : 'flight'}`,
    flightsChannel: `${namespace}:flights`,
    /** Channel of completion messages of jobs that name no process. */
    jobsChannel: `${namespace}:jobs`,
    /** Channel of the completion messages for one process. */
    completionsChannel: (id: string) => `${namespace}:jobs:${id}`,
    /** The processes that wait for a call, in addition to the one that submitted its job. */
    waiting: (callId: string) => `${namespace}:waiting:{${callId}}`,
    /** The mean run time of the jobs of a pool, as its workers see it. */
    meanDuration: (pool: string) => `${namespace}:workers:{${pool}}:duration`,
    /** Channel of commands to workers about the jobs they run. */
    controlChannel: `${namespace}:control`,
    /** Present while a worker has to stop a job. */
    cancelled: (callId: string) => `${namespace}:cancelled:{${callId}}`,
    /** Present while further requests wait for a job, in addition to the first. */
    joined: (callId: string) => `${namespace}:joined:{${callId}}`,
    reply: (uploadId: string) => `${namespace}:upload:{${uploadId}}:reply`,
    repliesChannel: `${namespace}:replies`,
    /** Channel of batch changes. */
    batchesChannel: `${namespace}:batches`,
    /** The pieces of an upload, for the worker that reads it. */
    upload: (uploadId: string) => `${namespace}:upload:{${uploadId}}`,
    /** The token bucket of one account at a provider. */
    tokens: (provider: string, account: string) => `${namespace}:tokens:{${provider} ${account}}`,
    /** The pacing state of one rate-limited endpoint, shared by all workers. */
    pacing: (endpoint: string) => `${namespace}:pacing:{${endpoint}}`,
    /** The cookie that a provider requires. */
    cookie: (provider: string) => `${namespace}:cookie:{${provider}}`,
    /** The live workers of a pool. */
    workers: (pool: string) => `${namespace}:workers:{${pool}}`,
    /** Prefix of the counters of sign-in attempts, by account or by address. */
    attempts: (kind: string) => `${namespace}:attempts:${kind}`,
    /** Prefix of the counters of requests that cost no units, by account. */
    freeRequests: `${namespace}:free`,
    /** Prefix of the counters of bytes of uploads, by account. */
    uploadBytes: `${namespace}:upload-bytes`,
    /** Prefix of the queue of a pool, which has a hash tag of its own. */
    queuePrefix: (pool: string) => `{${namespace}-${pool}}`,
  };
}

export type RedisKeys = ReturnType<typeof redisKeys>;
