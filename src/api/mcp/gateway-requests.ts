import type { Readable } from 'node:stream';
import type { FastifyError, FastifyInstance } from 'fastify';
import { SoukError } from '../../platform/errors.ts';
import type { ToolRequest } from './tool.ts';

/** Who calls: what goes along with every request that is made for them. */
export interface Requester {
  key: string;
  /** Address of the client, by which those who try keys are known. */
  ip: string;
  traceparent: string | undefined;
}

export interface GatewayAnswer {
  status: number;
  header(name: string): string | undefined;
  /** Bytes of the body, where they are known before it has come. */
  size: number | null;
  body: Readable;
}

export type SendRequest = (
  requester: Requester,
  request: ToolRequest,
  headers?: Record<string, string>,
) => Promise<GatewayAnswer>;

/**
 * Sends requests to the gateway itself, on the way that all requests go: so keys, prices, claims, caches and errors are
 * decided in one place. Bodies come as streams, and uncompressed. A gateway that closes takes none: it is BUSY.
 */
export function requestsTo(app: FastifyInstance): SendRequest {
  return async ({ key, ip, traceparent }, { method, url, body }, headers = {}) => {
    const sending = app.inject({
      method,
      url,
      remoteAddress: ip,
      headers: {
        'x-api-key': key,
        ...(traceparent ? { traceparent } : {}),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body === undefined ? {} : { payload: body }),
      payloadAsStream: true,
    });
    const response = await sending.catch((error: FastifyError) => {
      if (error.code === 'FST_ERR_REOPENED_CLOSE_SERVER') throw new SoukError('BUSY', { cause: error });
      throw error;
    });
    const header = (name: string) => {
      const value = response.headers[name];
      return value === undefined ? undefined : String(value);
    };
    const length = header('content-length');
    const stream = response.stream();
    // What is not read to its end must not wait for its reader for ever.
    stream.once('close', () => response.raw.res.destroy());
    return {
      status: response.statusCode,
      header,
      size: length === undefined ? null : Number(length),
      body: stream,
    };
  };
}

/** The body, or its beginning where it is larger; what is not wanted is not produced. */
export async function readAtMost(
  { body }: Pick<GatewayAnswer, 'body'>,
  bytes: number,
): Promise<{ bytes: Buffer; isWhole: boolean }> {
  const pieces: Buffer[] = [];
  let length = 0;
  for await (const piece of body as AsyncIterable<Buffer>) {
    pieces.push(piece);
    length += piece.length;
    // Leaving the loop ends the stream.
    if (length > bytes) return { bytes: Buffer.concat(pieces).subarray(0, bytes), isWhole: false };
  }
  return { bytes: Buffer.concat(pieces), isWhole: true };
}
