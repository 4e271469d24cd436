import { Cluster, type ClusterNode, type ClusterOptions } from 'ioredis';

declare const plain: Cluster;
type Overrides = Parameters<typeof plain.duplicate>[1];

/**
 * A cluster that connects when `connect` is called, and whose `connect` settles. The `connect` of ioredis never settles
 * if its first attempt fails and a later one succeeds, as in a fail-over. A process would not start, and BullMQ, which
 * waits for it on a duplicate connection, would take no jobs. See https://github.com/redis/ioredis/pull/741, which was not merged.
 */
export class SettlingCluster extends Cluster {
  readonly #nodes: ClusterNode[];
  #ready: Promise<void> | null = null;

  constructor(nodes: ClusterNode[], { redisOptions = {}, ...options }: ClusterOptions) {
    super(nodes, {
      ...options,
      lazyConnect: true,
      redisOptions: { ...redisOptions, replyMapping: 'legacy' },
    });
    this.#nodes = nodes;
  }

  override async connect(): Promise<void> {
    // ioredis calls this for each attempt, so an attempt must not leave a listener behind.
    this.#ready ??= new Promise((resolve) =>
      this.once('ready', () => {
        this.#ready = null;
        resolve();
      }),
    );
    await Promise.race([super.connect(), this.#ready]);
  }

  override duplicate<Own extends Overrides = undefined>(nodes: ClusterNode[] = [], options?: Own) {
    const { redisOptions } = this.options;
    const duplicate: unknown = new SettlingCluster(nodes.length > 0 ? nodes : this.#nodes, {
      ...this.options,
      ...options,
      redisOptions: { ...redisOptions, ...options?.redisOptions },
    });
    return duplicate as ReturnType<typeof plain.duplicate<Own>>;
  }
}
