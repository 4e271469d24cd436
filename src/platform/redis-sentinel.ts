import { type SentinelConnectionOptions, SentinelConnector } from 'ioredis';

type Connect = SentinelConnector['connect'];

/**
 * Connects to the server that the sentinels name, and connects again when they announce another one. That of ioredis also listens for
 * announcements while it connects again, and if one comes then, the connection ends and is never made again.
 */
export class MasterConnector extends SentinelConnector {
  /** @param options of the connection; ioredis passes them without a type. */
  constructor(options: unknown) {
    super(options as SentinelConnectionOptions);
  }

  override connect(...onEvent: Parameters<Connect>): ReturnType<Connect> {
    // The sentinels are asked now. The connection will have a listener of its own.
    // biome-ignore-start lint/complexity/useLiteralKeys: the field is private.
    this['failoverDetector']?.cleanup();
    this['failoverDetector'] = null;
    // biome-ignore-end lint/complexity/useLiteralKeys: see above.
    return super.connect(...onEvent);
  }
}
