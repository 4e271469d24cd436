import type { GraphImageInput } from '../../operations/market/graph-image.ts';
import type { CallContext, KeepaTransport } from './transport.ts';

/** Maps upstream's case-sensitive parameter names to ours, which are in lower case. */
const COLOURS = {
  cBackground: 'cbackground',
  cFont: 'cfont',
  cAmazon: 'cretailer',
  cNew: 'cnew',
  cUsed: 'cused',
  cSales: 'csales',
  cFBA: 'cfba',
  cFBM: 'cfbm',
  cBB: 'cbb',
  cLD: 'cld',
  cWD: 'cwd',
} as const satisfies Record<string, keyof GraphImageInput>;

/** Fetches upstream's picture, unchanged. */
export function fetchGraphImage(
  keepa: KeepaTransport,
  input: GraphImageInput,
  context: CallContext,
): Promise<Buffer> {
  const { domain, asin, range, width, height } = input;
  const colours = Object.entries(COLOURS).flatMap(([theirs, ours]) => {
    const colour = input[ours];
    return colour === undefined ? [] : [[theirs, colour] as const];
  });
  const curves = {
    amazon: input.retailer,
    new: input.new,
    used: input.used,
    salesrank: input.salesrank,
    bb: input.bb,
    fba: input.fba,
    fbm: input.fbm,
    ld: input.ld,
    wd: input.wd,
    yzoom: input.yzoom,
  };
  return keepa.picture(
    {
      path: 'graphimage',
      params: {
        ...{ domain, asin, range, width, height },
        ...Object.fromEntries(Object.entries(curves).map(([name, shown]) => [name, Number(shown)])),
        ...Object.fromEntries(colours),
      },
      cost: 1,
    },
    context,
  );
}
