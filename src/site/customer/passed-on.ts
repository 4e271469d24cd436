import type { FastifyReply, FastifyRequest } from 'fastify';
import { type ApiCaller, type ApiEnvelope, errorOf, streamApi } from '../own-api.ts';

/** What an answer says of its body. */
const BODY_HEADERS = ['content-type', 'content-encoding', 'content-length', 'vary'];

const EXTENSIONS: Record<string, string> = {
  'application/json': 'json',
  'application/x-ndjson': 'ndjson',
  'text/csv': 'csv',
  'image/png': 'png',
};

/**
 * Passes bytes of the service on to the browser, as a file to keep. None of it is read here, however large it is.
 * @throws SoukError what the service says where there is none.
 */
export async function passOn(
  request: FastifyRequest,
  reply: FastifyReply,
  caller: ApiCaller,
  { path, name }: { path: string; name: string },
): Promise<FastifyReply> {
  const accepted = request.headers['accept-encoding'];
  const headers: Record<string, string> = accepted === undefined ? {} : { 'accept-encoding': accepted };
  const answer = await streamApi(caller, { path, headers });
  if (answer.status >= 400) throw errorOf({ ...answer, envelope: await envelopeOf(answer.body) });
  for (const header of BODY_HEADERS) {
    const value = answer.headers[header];
    if (value !== undefined) reply.header(header, value);
  }
  const [type = ''] = String(answer.headers['content-type']).split(';', 1);
  return reply
    .code(answer.status)
    .header('cache-control', 'no-store')
    .header('content-disposition', `attachment; filename="${name}.${EXTENSIONS[type] ?? 'bin'}"`)
    .send(answer.body);
}

/** Errors are small, whatever was asked for. */
export async function envelopeOf(body: AsyncIterable<Buffer>): Promise<ApiEnvelope> {
  const chunks: Buffer[] = [];
  for await (const chunk of body) chunks.push(chunk);
  return JSON.parse(Buffer.concat(chunks).toString()) as ApiEnvelope;
}
