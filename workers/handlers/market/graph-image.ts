import type { graphImage } from '../../../src/operations/market/graph-image.ts';
import { fetchGraphImage } from '../../../src/upstream/keepa/graph-image.ts';
import { checkedPng } from '../../pictures/png.ts';
import { single } from '../handler.ts';

export const handleGraphImage = single<typeof graphImage>(async (input, context) =>
  checkedPng(await fetchGraphImage(context.upstream.keepa, input, context), input, context.log),
);
