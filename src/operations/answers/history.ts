import { z } from 'zod';
import { NAMED_SERIES } from '../products/named-series.ts';
import { SCHEMA_NAMES } from './schema-names.ts';

/** Schemas of decoded products. Lists of a history are columns: entries at the same position belong together. */

const UNITS = {
  price: 'in the currency of the site',
  count: 'as a number',
  stars: 'in stars',
} as const;

const time = z.array(z.iso.datetime()).describe('Times of the changes, oldest first');

const series = z
  .looseObject({
    time,
    value: z.array(z.number().nullable()).describe('Values from these times on; null: no data').optional(),
    shipping: z
      .array(z.number().nullable())
      .optional()
      .describe(
        'Shipping of the offers, beside their price in value; only in series of prices with shipping',
      ),
  })
  .register(SCHEMA_NAMES, { id: 'Series' });

const byName = z
  .object(
    Object.fromEntries(
      NAMED_SERIES.map(({ name, kind, description }) => [
        name,
        series.optional().describe(`${description}, ${UNITS[kind]}`),
      ]),
    ),
  )
  .catchall(z.unknown());

/** The histories of a product by name. */
export const history = byName
  .extend({
    salesRanks: z.record(z.string(), series).optional().describe('Sales ranks by category id'),
    monthlySold: series.optional().describe('Units sold in the past month'),
  })
  .describe('Histories by name; only with decode=1')
  .register(SCHEMA_NAMES, { id: 'History' });

/** Numbers of a statistic by the name of their series. A series without data is absent. */
const values = z
  .object(
    Object.fromEntries(
      NAMED_SERIES.map(({ name, kind, description }) => [
        name,
        z.number().optional().describe(`${description}, ${UNITS[kind]}`),
      ]),
    ),
  )
  .register(SCHEMA_NAMES, { id: 'ValuesBySeries' });

export const statistics = z
  .looseObject({
    current: values.optional(),
    avg: values.optional(),
    avg30: values.optional(),
    avg90: values.optional(),
    avg180: values.optional(),
    avg365: values.optional(),
  })
  .describe('Statistics by name of the statistic and of the series; only with decode=1')
  .register(SCHEMA_NAMES, { id: 'StatisticsBySeries' });
