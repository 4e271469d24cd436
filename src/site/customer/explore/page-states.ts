import type { FastifyRequest } from 'fastify';
import type { FormValues } from '../../kit/form-request.ts';
import type { View } from './view.ts';
import { stateOf, type ViewState } from './view-state.ts';

/** A view on its page. */
export interface ShownView {
  view: View;
  state: ViewState;
}

/**
 * The views of a page with their states. Only the first one is shown until it has data, because its refusal is that of the
 * form. Views that need the data of another one come last.
 * @param known a state that has been found already.
 */
export async function statesOf(
  request: FastifyRequest,
  [first, ...others]: readonly View[],
  query: FormValues,
  known?: ShownView,
): Promise<ShownView[]> {
  if (!first) return [];
  const shown = async (view: View): Promise<ShownView> =>
    known?.view.name === view.name ? known : { view, state: await stateOf(request, view, query[view.name]) };
  const main = await shown(first);
  if (main.state.kind !== 'done') return [main];
  const own = [main, ...(await Promise.all(others.map(shown)))];
  const next = own.flatMap(({ view, state }) =>
    state.kind === 'done' ? (view.next?.(state.data, query) ?? []) : [],
  );
  return [...own, ...(await Promise.all(next.map(shown)))];
}

/** The view of this name. */
export async function findView(
  request: FastifyRequest,
  views: readonly View[],
  query: FormValues,
  name: string | undefined,
): Promise<View | undefined> {
  if (name === undefined) return undefined;
  const own = views.find((view) => view.name === name);
  if (own) return own;
  const shown = await statesOf(request, views, query);
  return shown.find(({ view }) => view.name === name)?.view;
}
