import type { Readable } from 'node:stream';
import type { FastifyError, FastifyInstance } from 'fastify';
import { SoukError } from '../platform/errors.ts';
import { stringifyJson } from '../platform/json.ts';

/** The customer for whom a request is sent. */
export interface Requester {
  key: string;
  /** IP address of the client, by which wrong keys are counted. */
  ip?: string;
  traceparent?: string | undefined;
}

export interface GatewayRequest {
  method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  /** Path with its query. */
  url: string;
  /** Text is sent as it is, an object as JSON. */
  body?: object | string | undefined;
}

export interface GatewayAnswer {
  status: number;
  header(name: string): string | undefined;
  /** Bytes of the body; null if unknown. */
  size: number | null;
  /** The caller must read it to its end or destroy it. */
  body: Readable;
}

export type SendRequest = (
  requester: Requester,
  request: GatewayRequest,
  headers?: Record<string, string>,
) => Promise<GatewayAnswer>;

/**
 * Sends requests to the gateway itself through the routes and hooks of all requests, so that keys, prices, claims,
 * caches and errors are handled in one place. Bodies are streams, uncompressed unless `headers` accept an encoding.
 * @throws SoukError BUSY while the gateway closes.
 */
export function requestsTo(app: FastifyInstance): SendRequest {
  return async ({ key, ip, traceparent }, { method, url, body }, headers = {}) => {
    const sending = app.inject({
      method,
      url,
      ...(ip === undefined ? {} : { remoteAddress: ip }),
      headers: {
        // A key, or the access token of a connection.
        authorization: `Bearer ${key}`,
        ...(traceparent ? { traceparent } : {}),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body === undefined ? {} : { payload: typeof body === 'string' ? body : stringifyJson(body) }),
      payloadAsStream: true,
    });
    const response = await sending.catch((error: FastifyError) => {
      if (error.code !== 'FST_ERR_REOPENED_CLOSE_SERVER') throw error;
      throw new SoukError('BUSY', {
        message: 'This part of the service is restarting; retry later.',
        cause: error,
      });
    });
    const header = (name: string) => {
      const value = response.headers[name];
      return value === undefined ? undefined : String(value);
    };
    const length = header('content-length');
    const stream = response.stream();
    // Stops the production of a body that is no longer read.
    stream.once('close', () => response.raw.res.destroy());
    return {
      status: response.statusCode,
      header,
      size: length === undefined ? null : Number(length),
      body: stream,
    };
  };
}

/** Reads the body, or its first bytes if it is larger. The rest is not produced. */
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
