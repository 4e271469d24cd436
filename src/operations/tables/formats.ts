/** The forms of a table: media type, extension of a file, and whether gzip makes it smaller. */
export const TABLE_FORMATS = {
  csv: { contentType: 'text/csv; charset=utf-8', isCompressible: true },
  ndjson: { contentType: 'application/x-ndjson', isCompressible: true },
  xlsx: {
    contentType: 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet',
    isCompressible: false,
  },
  parquet: { contentType: 'application/vnd.apache.parquet', isCompressible: false },
} as const;

export type TableFormat = keyof typeof TABLE_FORMATS;

export const TABLE_FORMAT_NAMES = Object.keys(TABLE_FORMATS) as [TableFormat, ...TableFormat[]];

/** The media type of a form without its parameters. */
export function mediaTypeOf(format: TableFormat): string {
  return TABLE_FORMATS[format].contentType.split(';', 1)[0] ?? '';
}
