import { z } from 'zod';
import { Refusal } from './refusal.ts';

/** A part of the page about some keywords, with the token for its data. */
export interface Widget {
  id: string;
  type: string;
  /** Must be sent unchanged: the token is valid only for this request. */
  request: Record<string, unknown>;
  token: string;
}

/** A request has about six levels of objects. Thousands of levels can be parsed, but not serialised. */
const MOST_LEVELS = 30;

const schema = z.looseObject({
  widgets: z.array(
    z.looseObject({
      id: z.string(),
      type: z.string(),
      request: z
        .record(z.string(), z.unknown())
        .refine((request) => !isDeeperThan(MOST_LEVELS, request))
        .optional(),
      token: z.string().min(1).optional(),
    }),
  ),
});

/** Reads the widgets that have data. @throws Refusal `malformed` if none has. */
export function readWidgets(answer: unknown): Widget[] {
  const result = schema.safeParse(answer);
  if (!result.success) throw new Refusal('malformed', 'the explore answer has no list of widgets');
  const widgets = result.data.widgets.flatMap(({ id, type, request, token }) =>
    request && token ? [{ id, type, request, token }] : [],
  );
  if (widgets.length === 0) throw new Refusal('malformed', 'the explore answer has no token');
  return widgets;
}

/** Returns the widget with this id; of several, the one of the keyword. Their order has no meaning. */
export function widgetOf(widgets: readonly Widget[], id: string, keyword?: string): Widget | undefined {
  return widgets.find(
    (widget) =>
      (widget.id === id || (keyword !== undefined && widget.id.startsWith(`${id}_`))) &&
      (keyword === undefined || keywordOf(widget) === keyword),
  );
}

function isDeeperThan(levels: number, value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return levels === 0 || Object.values(value).some((inner) => isDeeperThan(levels - 1, inner));
}

const restricted = z.looseObject({
  restriction: z.looseObject({
    complexKeywordsRestriction: z.looseObject({ keyword: z.tuple([z.looseObject({ value: z.string() })]) }),
  }),
});

/** Returns the keyword of a widget about related searches. */
function keywordOf({ request }: Widget): string | null {
  const result = restricted.safeParse(request);
  return result.success ? result.data.restriction.complexKeywordsRestriction.keyword[0].value : null;
}
