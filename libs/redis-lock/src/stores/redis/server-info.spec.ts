import { describe, expect, test } from '@jest/globals';
import { whyTooOld } from './server-info.js';

const infoOf = (version: string): string => `# Server\r\nredis_version:${version}\r\nredis_mode:standalone\r\n`;

describe('whyTooOld', () => {
  test.each(['6.0.16', '6.1.240', '5.0.14', '3.2.100', '2.8.24'])('%s is', (version) => {
    expect(whyTooOld(infoOf(version))).toBe(`Redis ${version} is too old: 6.2 or later is needed`);
  });

  test.each(['6.2.0', '6.2.14', '6.10.0', '7.0.15', '7.2.4', '8.0.0', '10.0.0', '255.255.255', '6.2.0-rc1'])(
    '%s is not',
    (version) => {
      expect(whyTooOld(infoOf(version))).toBeUndefined();
    },
  );

  test('Valkey is not: it names the Redis that it is like', () => {
    expect(whyTooOld(`${infoOf('7.2.4')}server_name:valkey\r\nvalkey_version:8.1.1\r\n`)).toBeUndefined();
  });

  test.each(['', '# Server\r\n', 'redis_version:\r\n', 'redis_version:managed\r\n', 'my_redis_version:5.0.0\r\n'])(
    'who does not say is let through: %j',
    (info) => {
      expect(whyTooOld(info)).toBeUndefined();
    },
  );
});
