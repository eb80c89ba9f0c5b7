// Jest's JSON report in one line.
import { readFileSync } from 'node:fs';

const [file = '', status = '1'] = process.argv.slice(2);
const report = JSON.parse(readFileSync(file, 'utf8'));
const skipped = report.numPendingTests + report.numTodoTests;
// A file that could not be loaded has no tests to count; a run may also fail for another reason than a test.
const failed = report.numFailedTests + report.numRuntimeErrorTestSuites;
const counts = [`${report.numPassedTests} passed`, `${failed === 0 && status !== '0' ? 1 : failed} failed`];
if (skipped > 0) counts.push(`${skipped} skipped`);
process.stdout.write(`${counts.join(', ')}\n`);
