/**
 * The advisory lock of imports, as SQL: one import runs at a time in each schema. Imports of generated reports for test keys and of
 * real ones do not wait for each other.
 */
export const IMPORT_LOCK =
  "hashtext('souk.aba.import' || coalesce('.' || nullif(current_schema(), 'public'), ''))";
