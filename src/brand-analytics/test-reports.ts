/**
 * The schema with the generated reports of test keys. Connections for them have only this schema in their search path, so that no
 * query finds a table of imported reports, or the reverse; see docs/decisions/test-reports-are-a-schema.md.
 */
export const TEST_REPORTS = { search_path: 'test_reports' } as const;
