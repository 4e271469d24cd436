import { type Command, Option } from 'commander';
import type { Schemas } from '../generated/operations.ts';
import type { Souk } from '../souk.ts';
import { clientOf } from './login.ts';
import { type Format, formatted } from './output.ts';
import type { Terminal } from './program.ts';
import { wholeNumber } from './whole-number.ts';

const ACTIONS = ['list', 'alerts', 'create'] as const;

type Action = (typeof ACTIONS)[number];

const PRICES = ['new', 'amazon', 'used', 'buyBox'] as const;

/** The options of `trackers create`. */
interface TrackerFlags {
  asins?: string;
  domain: number;
  name?: string;
  cron: string;
  timezone: string;
  price: (typeof PRICES)[number];
  priceBelow?: number;
  priceDrop?: number;
  salesRankBelow?: number;
  ratingBelow?: number;
  backInStock?: boolean;
  buyBoxOwner?: boolean;
  webhook?: string;
  maxUnits?: number;
  dryRun?: boolean;
}

/** Adds the command `trackers`. */
export function addTrackers(program: Command, { env, write, signal }: Terminal, output: Option): void {
  program
    .command('trackers')
    .description(
      'Lists trackers, or the alerts of one; or creates one: trackers create --asins A,B --price-below 1999',
    )
    .addArgument(program.createArgument('[action]', 'what to do').choices(ACTIONS).default('list'))
    .argument('[id]', 'id of the tracker whose alerts are listed')
    .option('--asins <asins>', 'products, separated by commas')
    .option('--domain <number>', 'number of the site', wholeNumber, 1)
    .option('--name <name>', 'name of the tracker')
    .option('--cron <pattern>', 'times of the checks', '0 6 * * *')
    .option('--timezone <name>', 'time zone of the pattern', 'UTC')
    .addOption(new Option('--price <price>', 'the price of conditions').choices(PRICES).default('new'))
    .option('--price-below <cents>', 'alerts when the price falls below this', wholeNumber)
    .option('--price-drop <percent>', 'alerts when the price is this far below its average', wholeNumber)
    .option('--sales-rank-below <rank>', 'alerts when the sales rank falls below this', wholeNumber)
    .option(
      '--rating-below <tenths>',
      'alerts when the rating falls below this; 45 is 4.5 stars',
      wholeNumber,
    )
    .option('--back-in-stock', 'alerts when the price exists again')
    .option('--buy-box-owner', 'alerts when another seller gets the Buy Box')
    .option('--webhook <address>', 'address that receives the alerts')
    .option('--max-units <units>', 'refuses a tracker whose checks can cost more', wholeNumber)
    .option('--dry-run', 'shows the price only')
    .addOption(output)
    .action(async (action: Action, id: string | undefined, flags: TrackerFlags & { output: Format }) => {
      const souk = clientOf(env);
      const data = action === 'create' ? create(souk, flags, signal) : listed(souk, action, id, signal);
      write(formatted(await data, flags.output));
    });
}

async function listed(souk: Souk, action: Action, id: string | undefined, signal: AbortSignal) {
  if (action === 'list') return (await souk.trackers.list({}, { signal })).trackers.map(trackerRow);
  if (id === undefined) throw new Error('id: must be the id of a tracker');
  return (await souk.trackers.alerts(id, {}, { signal })).alerts.map(alertRow);
}

async function create(souk: Souk, flags: TrackerFlags, signal: AbortSignal) {
  const { domain, cron, timezone, webhook, maxUnits } = flags;
  const asins = (flags.asins ?? '').split(/[\s,]+/).filter((asin) => asin !== '');
  const conditions = conditionsOf(flags);
  if (asins.length === 0) throw new Error('asins: must be one or more ASINs, separated by commas');
  if (conditions.length === 0) throw new Error('condition: must be at least one, such as --price-below 1999');
  const name = flags.name ?? `${asins[0]}${asins.length > 1 ? ` and ${asins.length - 1} more` : ''}`;
  const body = {
    ...{
      name,
      cron,
      timezone,
      domain: domain as Schemas['TrackersCreateParams']['domain'],
      asins,
      conditions,
    },
    ...(webhook === undefined ? {} : { webhook }),
    ...(maxUnits === undefined ? {} : { maxUnits }),
  } as Schemas['TrackersCreateParams'];
  const tracker = await (flags.dryRun
    ? souk.trackers.quote(body, { signal })
    : souk.trackers.create(body, { signal }));
  return [trackerRow(tracker)];
}

function conditionsOf({
  price,
  ...flags
}: TrackerFlags): NonNullable<Schemas['TrackersCreateParams']['conditions']> {
  return [
    ...(flags.priceBelow === undefined
      ? []
      : [{ type: 'price_below', price, value: flags.priceBelow } as const]),
    ...(flags.priceDrop === undefined
      ? []
      : [{ type: 'price_drop', price, value: flags.priceDrop } as const]),
    ...(flags.salesRankBelow === undefined
      ? []
      : [{ type: 'sales_rank_below', value: flags.salesRankBelow } as const]),
    ...(flags.ratingBelow === undefined ? [] : [{ type: 'rating_below', value: flags.ratingBelow } as const]),
    ...(flags.backInStock ? [{ type: 'back_in_stock', price } as const] : []),
    ...(flags.buyBoxOwner ? [{ type: 'buy_box_owner' } as const] : []),
  ];
}

function trackerRow({ trackerId, name, items, units, unitsPerDay, paused, nextRuns }: Schemas['Tracker']) {
  return { trackerId, name, items, units, unitsPerDay, paused, nextRun: nextRuns[0] ?? null };
}

function alertRow({ createdAt, asin, title, condition, before, after, threshold }: Schemas['TrackerAlert']) {
  return { createdAt, asin, title, condition: condition.type, before, after, threshold };
}
