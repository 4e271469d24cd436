import type { VNode } from 'preact';
import { priceFormat, priceOf } from '../../../../operations/products/site-prices.ts';
import { addressOf } from '../../../kit/paging.tsx';
import { type Column, Table } from '../../../kit/table.tsx';
import { valueText } from '../../../kit/time-chart.tsx';
import { Picture } from '../picture.tsx';
import type { ShowContext } from '../view.ts';
import { Pager, pageIn } from './pager.tsx';

/** The data of the deals call. */
export interface DealsData {
  domainId: number;
  deals: { dr: Deal[] };
}

/** Lists have one entry for each type of price; `delta` lists have one list for each period. */
interface Deal {
  asin: string;
  title?: string | null;
  /** Character codes of a file name. */
  image?: number[] | null;
  current?: number[];
  delta?: number[][];
  deltaPercent?: number[][];
}

interface DealRow {
  asin: string;
  title: string | null;
  image: string | null;
  price: number | null;
  fall: number | null;
  percent: number | null;
}

export function dealRows({ deals, domainId }: DealsData, type: number, period: unknown): DealRow[] {
  const span = Number(period);
  return deals.dr.map(({ asin, title = null, image, current, delta, deltaPercent }) => ({
    ...{ asin, title },
    image: image ? String.fromCharCode(...image) : null,
    price: priceOf(current?.[type], domainId),
    fall: priceOf(delta?.[span]?.[type], domainId),
    percent: deltaPercent?.[span]?.[type] ?? null,
  }));
}

/** Products whose price has fallen, thirty at a time. */
export function DealsTable(props: { data: DealsData; type: number; context: ShowContext }): VNode {
  const { data, type, context } = props;
  const { domainId } = data;
  const format = priceFormat(domainId);
  const page = pageIn(dealRows(data, type, context.query.dateRange), context.query);
  const columns: Column<DealRow>[] = [
    ['Picture', ({ image }) => <Picture host={context.imageCdnUrl} name={image} size={56} />],
    [
      'Product',
      ({ asin, title }) => (
        <a href={addressOf('/explore/product', { domain: String(domainId), asin })}>{title ?? asin}</a>
      ),
      'row',
    ],
    ['Price', ({ price }) => valueText(price, format), 'number'],
    ['Price drop', ({ fall }) => valueText(fall, format), 'number'],
    ['Drop in %', ({ percent }) => (percent === null ? '-' : `${percent} %`), 'number'],
  ];
  return (
    <>
      <Table name="Deals" columns={columns} rows={page.rows} empty="No deals." />
      <Pager page={page} context={context} id="deals" />
    </>
  );
}
