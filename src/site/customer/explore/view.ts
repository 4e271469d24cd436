import type { VNode } from 'preact';
import type { QueuedName } from '../../../operations/index.ts';
import type { FormValues } from '../../kit/form-request.ts';

/** One call of a page for looking at data: it is priced first, and its answer is shown on the page. */
export interface View {
  /** Name of its job in the address of the page, and id of its part of the page. */
  name: string;
  title: string;
  /** Text of the button, such as "Show the offers". */
  button: string;
  operation: QueuedName;
  parameters: Record<string, unknown>;
  /** How its data is shown; for a picture without data. */
  show(data: unknown, context: ShowContext): VNode;
  /** The data as rows of a CSV file. */
  rows?: (data: unknown) => readonly Record<string, unknown>[];
  /** Further views, for which the page needs the data of this one. */
  next?: (data: unknown, query: FormValues) => readonly View[];
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
  view: Omit<View, 'show' | 'rows' | 'next'> & {
    show(data: Data, context: ShowContext): VNode;
    rows?: (data: Data) => readonly Record<string, unknown>[];
    next?: (data: Data, query: FormValues) => readonly View[];
  },
): View {
  return view as View;
}
