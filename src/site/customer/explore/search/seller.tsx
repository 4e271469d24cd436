import type { VNode } from 'preact';
import { Facts } from '../../../kit/facts.tsx';
import { count } from '../../../kit/words.tsx';
import type { ShowContext } from '../view.ts';
import { AsinList } from './asin-list.tsx';

/** The data of the call for a seller with its storefront. */
export interface SellerData {
  domainId: number;
  sellers: Record<
    string,
    {
      sellerId: string;
      sellerName?: string | null;
      hasFBA?: boolean | null;
      /** For 30, 90 and 365 days, and in total. */
      ratingCount?: number[] | null;
      positiveRating?: number[] | null;
      asinList?: string[] | null;
    }
  >;
}

export function sellerAsins({ sellers }: SellerData): string[] {
  return Object.values(sellers)[0]?.asinList ?? [];
}

export function SellerFacts({ data, context }: { data: SellerData; context: ShowContext }): VNode {
  const [seller] = Object.values(data.sellers);
  if (!seller) return <p class="empty">The provider does not know this seller.</p>;
  const { sellerId, sellerName, hasFBA, ratingCount, positiveRating } = seller;
  const [, , year, total] = ratingCount ?? [];
  const positive = positiveRating?.[2];
  return (
    <>
      <h3>{sellerName ?? sellerId}</h3>
      <Facts
        facts={[
          ['Seller', <code>{sellerId}</code>],
          total !== undefined && ['Ratings', count(total)],
          year !== undefined && ['Ratings in a year', count(year)],
          positive !== undefined && ['Positive in a year', `${positive} %`],
          hasFBA !== null && hasFBA !== undefined && ['Fulfilled by the site', hasFBA ? 'yes' : 'no'],
        ]}
      />
      <AsinList asins={sellerAsins(data)} domain={data.domainId} id="storefront" context={context} />
    </>
  );
}
