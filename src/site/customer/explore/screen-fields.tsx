import type { VNode } from 'preact';
import type { TrackerView } from '../../../batches/trackers/tracker.ts';
import { siteOfDomain } from '../../../operations/brand-analytics/keywords.ts';
import { MOST_ROWS } from '../../../operations/research/screen.ts';
import { SCREEN_SORTS } from '../../../operations/research/screen-cursor.ts';
import { type FieldRow, Fields } from '../../kit/form.tsx';
import type { FormValues } from '../../kit/form-request.ts';
import { COUNTRY_FIELD } from './keyword-page.tsx';

const RANK = { from: 1, to: 3_000_000, scale: 'log' } as const;
const PLACES = { from: -500_000, to: 500_000, scale: 'both' } as const;
const PERCENT = { from: 0, to: 100, scale: 'linear' } as const;

/** The ranges, with the parts of the sliders that they use. */
const RANGES = [
  ['rank', 'Rank', RANK, 1],
  ['change4', 'Gained in 4 weeks', PLACES, 1],
  ['change12', 'Gained in 12 weeks', PLACES, 1],
  ['clickShare', 'Clicks, %', PERCENT, 0.01],
  ['conversionShare', 'Purchases, %', PERCENT, 0.01],
] as const;

const SORT_NAMES: Record<string, string> = {
  rank: 'Rank',
  change4: 'Places gained in 4 weeks',
  change12: 'Places gained in 12 weeks',
  clickShare: 'Clicks',
  conversionShare: 'Purchases',
  firstSeen: 'First seen',
};

const SORTS = SCREEN_SORTS.map((sort) => {
  const isDescending = sort.startsWith('-');
  return [
    sort,
    `${SORT_NAMES[sort.replace('-', '')]}, ${isDescending ? 'highest first' : 'lowest first'}`,
  ] as const;
});

const WEEK: FieldRow = ['week', 'Week ending on Saturday', { type: 'date' }];

const WORDS: readonly FieldRow[] = [
  COUNTRY_FIELD,
  ['words', 'With all words', { placeholder: 'lamp, led', maxLength: 400 }],
  ['notWords', 'Without words', { placeholder: 'shade, oil', maxLength: 400 }],
  ['brand', 'Brand', { maxLength: 200 }],
  ['newSince', 'First seen since', { type: 'date' }],
  ['sort', 'Order', { options: SORTS, preset: 'rank' }],
  ['limit', 'Rows', { type: 'number', min: 1, max: MOST_ROWS, preset: '100' }],
];

const ENDS: readonly FieldRow[] = RANGES.flatMap(([name, label, slider, step]): FieldRow[] =>
  (['Min', 'Max'] as const).map((end) => [
    `${name}${end}`,
    `${label}: ${end === 'Min' ? 'from' : 'to'}`,
    {
      type: 'number',
      step,
      min: name.startsWith('change') ? -2_000_000_000 : slider.from,
      max: slider === PERCENT ? slider.to : 2_000_000_000,
      slider: { ...slider, open: end === 'Min' ? 'low' : 'high' },
    },
  ]),
);

/** All fields of the form. */
export const SCREEN_FIELDS: readonly FieldRow[] = [WEEK, ...WORDS, ...ENDS];

/** The field of the form for the range of each name. */
export const RANGE_FIELDS: Readonly<Record<string, string>> = Object.fromEntries(
  RANGES.map(([name]) => [name, `${name}Min`]),
);

/** The filters of a screen. Their script is `screener.js`. @param props.hasWeek whether a week can be chosen. */
export function ScreenFields({ hasWeek = false }: { hasWeek?: boolean }): VNode {
  const [country, ...words] = WORDS;
  return (
    <>
      <Fields rows={[...(country ? [country] : []), ...(hasWeek ? [WEEK] : []), ...words]} />
      <div class="ranges">
        {RANGES.map(([name, label]) => (
          <fieldset key={name} class="range">
            <legend>{label}</legend>
            <Fields
              rows={ENDS.filter(([end]) => end.replace(/M..$/, '') === name).map(
                ([end, _label, more]) => [end, end.endsWith('Min') ? 'From' : 'To', more] as FieldRow,
              )}
            />
          </fieldset>
        ))}
      </div>
    </>
  );
}

/** The parameters of the call that the form asks for, under the names of a query. */
export function screenQuery(values: FormValues): Record<string, string> {
  const names = [...SCREEN_FIELDS.map(([name]) => name), 'cursor'];
  return Object.fromEntries(names.flatMap((name) => (values[name] ? [[name, values[name]] as const] : [])));
}

/** The parameters as a tracker stores them: ranges as objects, and words as lists. */
export function savedScreen(values: FormValues): Record<string, unknown> {
  const { week: _week, cursor: _cursor, ...parameters } = screenQuery(values);
  const saved: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(parameters)) {
    const [, range, end] = /^(.+)(Min|Max)$/.exec(name) ?? [];
    if (range && end) saved[range] = { ...(saved[range] as object), [end.toLowerCase()]: Number(value) };
    else if (name === 'words' || name === 'notWords')
      saved[name] = value
        .split(',')
        .map((word) => word.trim())
        .filter(Boolean);
    else saved[name] = name === 'limit' ? Number(value) : value;
  }
  return saved;
}

/** The values of the form for a saved screen. */
export function screenValues(domain: number, saved: TrackerView['screen']): FormValues {
  const values: FormValues = { country: siteOfDomain(domain) ?? 'us' };
  for (const [name, value] of Object.entries(saved ?? {})) {
    if (Array.isArray(value)) values[name] = value.join(', ');
    else if (typeof value === 'object' && value !== null)
      for (const [end, bound] of Object.entries(value))
        values[`${name}${end === 'min' ? 'Min' : 'Max'}`] = String(bound);
    else values[name] = String(value);
  }
  return values;
}
