import { readConfig, requireSettings } from './config/config.ts';
import { migrate } from './platform/db/migrate.ts';
import { checkPostgres } from './start/check-services.ts';

/** Brings the database of DATABASE_URL up to date and ends; run it before the other processes of a new version. */
try {
  const { DATABASE_URL } = requireSettings(readConfig(process.env), 'DATABASE_URL');
  await checkPostgres(DATABASE_URL);
  await migrate(DATABASE_URL);
  process.stdout.write('The database is up to date.\n');
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}
