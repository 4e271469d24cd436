import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { VNode } from 'preact';
import { isTestAccount } from '../../../accounts/authentication.ts';
import { existingOperation, type QueuedName } from '../../../operations/index.ts';
import { SITES } from '../../../operations/params/domain.ts';
import { type ChosenTable, chooseTable, namedTable } from '../../../operations/tables/tables.ts';
import type { FieldRow } from '../../kit/form.tsx';
import type { FormValues } from '../../kit/form-request.ts';
import { addressOf } from '../../kit/list-page.tsx';
import { allowPictures } from '../../kit/render.tsx';
import type { Pages } from '../../pages.ts';
import { customerOf } from '../../session.ts';
import type { Snapshot } from './snapshot.tsx';

export const PRODUCT_PATH = '/explore/product';

/** One call of a page for exploring data: it is priced first, and its answer is shown on the page. */
export interface View {
  /** Name of its job in the address of the page, and id of its part of the page. */
  name: string;
  title: string;
  /** Text of the button, such as "Show the offers". */
  button: string;
  operation: QueuedName;
  parameters: Record<string, unknown>;
  /** The table that the page offers first, if it is not the default of the operation. */
  table?: string;
  /** How its data is shown; for a picture without data. */
  show(data: unknown, context: ShowContext): VNode;
  /** Further views, for which the page needs the data of this one. */
  next?: (data: unknown, query: FormValues) => readonly View[];
  /** What a link to its chart shows; absent: it has none. */
  snapshot?: (data: unknown, query: FormValues) => Snapshot;
  /** A button that also makes the call of the first further view, and how many units more that costs at most. */
  withNext?: { button: string; mostUnits: number };
  /** Whether there is nothing to show, so that the page leaves out its other views. */
  isEmpty?: (data: unknown) => boolean;
}

export interface ShowContext {
  /** Path of the page. */
  path: string;
  /** Values of the address, with the jobs of views. */
  query: FormValues;
  /** The host of product pictures; empty: this installation. */
  imageCdnUrl: string;
  /** The job that fetched the data. */
  jobId: string;
}

/** A view whose data has a known type. Answers are not validated again: the API has made them. */
export function viewOf<Data>(
  view: Omit<View, 'show' | 'next' | 'isEmpty' | 'snapshot'> & {
    show(data: Data, context: ShowContext): VNode;
    next?: (data: Data, query: FormValues) => readonly View[];
    isEmpty?: (data: Data) => boolean;
    snapshot?: (data: Data, query: FormValues) => Snapshot;
  },
): View {
  return view as View;
}

/** Returns the tables that the data of a view have; the first one is the default. */
export function tablesOf({ operation, parameters, table: preferred }: View): ChosenTable[] {
  const found = existingOperation(operation);
  const { data: input } = found.params.safeParse(parameters);
  const isChosen = (wanted?: string) => chooseTable(found, input, wanted, 'json');
  const names = Object.keys(input === undefined ? {} : (found.tables ?? {}));
  const made = names
    .filter((name) => 'name' in isChosen(name))
    .sort((a, b) => Number(b === preferred) - Number(a === preferred));
  return made.map((table) => namedTable(found, { ...(input as object), table }));
}

/** The field that chooses a site. */
export const SITE_FIELD: FieldRow = ['domain', 'Site', { options: Object.entries(SITES), preset: '1' }];

/** The number of the chosen site, or the text, which the API refuses with a reason. */
export function siteOf({ domain = '1' }: FormValues): number | string {
  return /^\d{1,3}$/.test(domain) ? Number(domain) : domain;
}

/** The address that offers the call of a view again, at the price of what is missing. */
export function againAddress({ path, query }: ShowContext, view: string): string {
  return `${addressOf(path, { ...query, [view]: undefined })}#${view}`;
}

/** A link to the page of a product. */
export function ProductLink(props: { domain: number; asin: string; title?: string | null }): VNode {
  const { domain, asin, title } = props;
  return <a href={addressOf(PRODUCT_PATH, { domain: String(domain), asin })}>{title ?? asin}</a>;
}

/** The address of the page of a search term. */
export function keywordAddress(country: string, keyword: string): string {
  return addressOf('/explore/keyword', { country, keyword });
}

/** The host of the pictures of products that a page shows; empty: this installation serves them. */
export function imageHostOf({ hasDemoPictures, imageCdnUrl }: Pages, request: FastifyRequest): string {
  return hasDemoPictures || isTestAccount(customerOf(request).accountId) ? '' : imageCdnUrl;
}

/** Lets the pages of a scope show pictures of the image host, if that is not this installation. */
export function allowProductPictures(scope: FastifyInstance, { hasDemoPictures, imageCdnUrl }: Pages): void {
  if (!hasDemoPictures) scope.addHook('onRequest', allowPictures(new URL(imageCdnUrl).origin));
}

/** A product picture of the image host, or an empty frame of the same size. */
export function Picture(props: { host: string; name: string | null | undefined; size: number }): VNode {
  const { host, name, size } = props;
  // Names come from the provider; the host gets nothing but a file name.
  return name && /^[\w+.~%-]{1,200}$/.test(name) ? (
    <img class="product" src={`${host}/images/I/${name}`} alt="" width={size} height={size} loading="lazy" />
  ) : (
    <svg class="product" width={size} height={size} aria-hidden="true" />
  );
}

/** A page for exploring data: a form, and the views of what it asks for. */
export interface ExplorePage {
  path: string;
  title: string;
  lead: string;
  fields: readonly FieldRow[];
  /** The fields as they are shown. Default: one after the other. */
  form?(): VNode;
  /** What follows the views, such as what the account has saved. */
  aside?(request: FastifyRequest): Promise<VNode | null>;
  /** Fields that hold parameters of another name. */
  fieldOf?: Readonly<Record<string, string>>;
  /** Converts the values of the form. */
  read?(values: FormValues): FormValues;
  /** Names of scripts that the page loads. */
  scripts?: readonly string[];
  /** Shown while the form is empty. */
  intro: string;
  /** The views for the values of the form, or null while the form is empty. The first one is what the form asks for. */
  views(values: FormValues): readonly View[] | null;
}
