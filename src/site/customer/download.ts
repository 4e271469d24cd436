import type { FastifyReply, FastifyRequest } from 'fastify';
import { envelopeOf, errorOf, streamApi } from './customer-api.ts';

const BODY_HEADERS = ['content-type', 'content-encoding', 'content-length', 'vary'];

const EXTENSIONS: Record<string, string> = {
  'application/json': 'json',
  'application/x-ndjson': 'ndjson',
  'text/csv': 'csv',
  'image/png': 'png',
};

/**
 * Streams an answer of the API to the browser as a file.
 * @throws SoukError the error of the API.
 */
export async function sendDownload(
  request: FastifyRequest,
  reply: FastifyReply,
  { url, name }: { url: string; name: string },
): Promise<FastifyReply> {
  const accepted = request.headers['accept-encoding'];
  const headers: Record<string, string> = accepted === undefined ? {} : { 'accept-encoding': accepted };
  const answer = await streamApi(request, { method: 'GET', url }, headers);
  const { status } = answer;
  if (status >= 400) throw errorOf({ status, envelope: await envelopeOf(answer) });
  for (const header of BODY_HEADERS) {
    const value = answer.header(header);
    if (value !== undefined) reply.header(header, value);
  }
  const [type = ''] = (answer.header('content-type') ?? '').split(';', 1);
  return reply
    .code(status)
    .header('cache-control', 'no-store')
    .header('content-disposition', `attachment; filename="${name}.${EXTENSIONS[type] ?? 'bin'}"`)
    .send(answer.body);
}
