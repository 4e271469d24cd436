import type { QueuedByName, QueuedName } from '../../src/operations/index.ts';
import type { Handler } from './handler.ts';
import { handleGraphImage } from './market/graph-image.ts';
import { handleLightningDeal } from './market/lightning-deal.ts';
import { handleProduct } from './market/product.ts';

/** Who does what. An operation without its handler does not compile. */
export const HANDLERS: { [Name in QueuedName]: Handler<QueuedByName<Name>> } = {
  'market.product': handleProduct,
  'market.lightningdeal': handleLightningDeal,
  'market.graphimage': handleGraphImage,
};
