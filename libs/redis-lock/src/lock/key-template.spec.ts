import { describe, expect, test } from '@jest/globals';
import { KeyTemplate } from './key-template.js';
import { LockArgumentError } from './lock.errors.js';

const where = '@Locked on OrderService.buy';
const fill = (source: string, values: Record<string, unknown>): string =>
  KeyTemplate.parse(source, where).fill((root) => values[root]).text;

describe('KeyTemplate', () => {
  test('fills placeholders: a parameter, properties below it, a position', () => {
    const values = { userId: 7, user: { profile: { id: 8 } }, 0: { id: 9 } };
    expect(fill('order:<userId>:<user.profile.id>:<0.id>', values)).toBe('order:7:8:9');
  });

  test('<< is a literal <', () => {
    expect(fill('a<<b:<id>', { id: 1 })).toBe('a<b:1');
    expect(fill('a<<b', {})).toBe('a<b');
  });

  test.each([
    '<id',
    'order:<',
    'order:<>',
    'order:<id>:<',
    '<a..b>',
    '<a b>',
    '<.id>',
    '<id:float>',
    '<id:int:int>',
    '<a><b>',
    '',
  ])('%p is refused when it is parsed, with the place where it stands', (source) => {
    expect(() => KeyTemplate.parse(source, where)).toThrow(LockArgumentError);
  });

  test('a value that is none names the placeholder, the method and what it got', () => {
    const broken = (): string => fill('order:<user.idd>', { user: { id: 1 } });
    expect(broken).toThrow(/@Locked on OrderService\.buy: placeholder <user\.idd>.*undefined/);
    expect(() => fill('order:<user.id>', { user: undefined })).toThrow('<user.id>');
    expect(() => fill('order:<user>', { user: { id: 1 } })).toThrow('such as its id');
  });

  test.each([
    [9, '9'],
    ['9', '9'],
    ['-9', '-9'],
    ['0', '0'],
    [9n, '9'],
  ])(':int takes %p', (value, text) => {
    expect(fill('v:<id:int>', { id: value })).toBe(`v:${text}`);
  });

  test.each([
    '09',
    '9.0',
    '+9',
    ' 9',
    '9 ',
    '-0',
    '1e3',
    '0x9',
    '',
    'x',
    9.5,
    NaN,
    2 ** 53,
    true,
    ['1'],
    { a: 1 },
    null,
  ])(':int refuses %p', (value) => {
    expect(() => fill('v:<id:int>', { id: value })).toThrow(/<id:int>/);
  });

  test('a bad value that came from the request is the fault of its sender, any other one ours', () => {
    const template = KeyTemplate.parse('v:<params.id:int>', where);
    const status = (fromRequest: boolean): unknown => {
      try {
        return template.fill(
          () => ({ id: '09' }),
          () => fromRequest,
        );
      } catch (error) {
        return (error as LockArgumentError).statusCode;
      }
    };
    expect([status(true), status(false)]).toEqual([400, 500]);
  });
});
