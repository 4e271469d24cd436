import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { isInNetworks, networksOf } from '../accounts/networks.ts';
import { SoukError } from '../platform/errors.ts';
import { countOpen, LINK_ROOT, linkOfToken } from '../results/result-links.ts';
import { setFacts } from './envelope.ts';
import { limitFreeRequest, type RequestLimits } from './limits/limits.ts';
import { linkedResult, type ResultDeps } from './result-links.ts';
import { downloadsOf, sendFile } from './send-file.ts';

/** Headers of what a link opens: its address is a secret, and its content is shown by no page. */
const HEADERS = {
  'referrer-policy': 'no-referrer',
  'x-robots-tag': 'noindex, nofollow',
  'x-content-type-options': 'nosniff',
  'content-security-policy': "default-src 'none'; sandbox",
  'cache-control': 'private, no-cache',
  vary: 'Accept-Encoding',
  // Programs in browsers read files with a link, too. Who has the link may read the result.
  'access-control-allow-origin': '*',
  'access-control-expose-headers': 'Accept-Ranges, Content-Disposition, Content-Range, ETag',
};

/** Registers the addresses of links, which open results without a key. */
export function registerLinks(app: FastifyInstance, deps: ResultDeps, limits: RequestLimits): void {
  app.register(async (scope) => {
    limits.openPages.limit(scope);
    const route = { exposeHeadRoute: true, config: { occupies: downloadsOf } };
    scope.get(`${LINK_ROOT}/:token/:name`, route, open);
    scope.get(`${LINK_ROOT}/:token`, route, open);
  });

  async function open(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    reply.headers(HEADERS);
    const { token } = request.params as { token: string };
    const now = deps.clock.now();
    const link = /^[\w-]{43}$/.test(token) ? await linkOfToken(deps.database, token, now) : null;
    if (!link) throw new SoukError('LINK_NOT_FOUND');
    const { accountId, networks, target, targetId: id, format, linkId, name } = link;
    if (networks && !isInNetworks(request.ip, networksOf(networks)))
      throw new SoukError('KEY_ADDRESS_REFUSED');
    request.accountId = accountId;
    await limitFreeRequest(limits, request, reply);
    const result = await linkedResult(deps, { accountId }, { target, id, format });
    if (request.method === 'GET') await countOpen(deps.database, linkId, now);
    setFacts(reply);
    reply.header('content-disposition', `attachment; filename="${name}"`);
    return sendFile(request, reply, await result.sendable(reply));
  }
}
