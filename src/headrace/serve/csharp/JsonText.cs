using System;
using System.Collections.Generic;
using System.Globalization;
using System.Text;

namespace Headrace
{
    /// <summary>A minimal JSON parser for the answers of a server, and for predicates.</summary>
    /// <remarks>With it, the library depends only on the framework.</remarks>
    internal sealed class JsonText
    {
        private const int Deepest = 100;

        private readonly string text;
        private int at;
        private int depth;

        private JsonText(string text)
        {
            this.text = text;
        }

        /// <summary>Parses JSON into dictionaries, lists, strings, doubles or longs, bools and null.</summary>
        internal static object Parse(string text)
        {
            var reader = new JsonText(text);
            var value = reader.Value();
            reader.Space();
            return reader.at == text.Length ? value : throw reader.Wrong();
        }

        internal static string Quote(string value)
        {
            var quoted = new StringBuilder("\"");
            foreach (var letter in value)
            {
                if (letter == '"' || letter == '\\')
                {
                    quoted.Append('\\').Append(letter);
                }
                else if (letter < ' ')
                {
                    quoted.Append("\\u").Append(((int)letter).ToString("x4", CultureInfo.InvariantCulture));
                }
                else
                {
                    quoted.Append(letter);
                }
            }

            return quoted.Append('"').ToString();
        }

        private object Value()
        {
            Space();
            switch (Peek())
            {
                case '{': return Nested(Members);
                case '[': return Nested(Items);
                case '"': return Text();
                case 't': return Word("true", true);
                case 'f': return Word("false", false);
                case 'n': return Word("null", null);
                default: return Number();
            }
        }

        /// <summary>Parses one level, unless it is so deep that the stack of the process could overflow.</summary>
        private object Nested(Func<object> parse)
        {
            if (depth == Deepest)
            {
                throw Wrong();
            }

            depth++;
            var value = parse();
            depth--;
            return value;
        }

        private Dictionary<string, object> Members()
        {
            var members = new Dictionary<string, object>();
            at++;
            for (Space(); Peek() != '}'; Space())
            {
                var name = Text();
                Space();
                Expect(':');
                members[name] = Value();
                Space();
                if (Peek() == ',')
                {
                    at++;
                }
            }

            at++;
            return members;
        }

        private List<object> Items()
        {
            var items = new List<object>();
            at++;
            for (Space(); Peek() != ']'; Space())
            {
                items.Add(Value());
                Space();
                if (Peek() == ',')
                {
                    at++;
                }
            }

            at++;
            return items;
        }

        private string Text()
        {
            Expect('"');
            var start = at;
            while (Peek() != '"' && text[at] != '\\')
            {
                at++;
            }

            if (text[at] == '"')
            {
                return text.Substring(start, at++ - start);
            }

            var value = new StringBuilder(text, start, at - start, at - start + 16);
            while (Peek() != '"')
            {
                value.Append(text[at] == '\\' ? Escaped() : text[at]);
                at++;
            }

            at++;
            return value.ToString();
        }

        private char Escaped()
        {
            at++;
            switch (Peek())
            {
                case 'b': return '\b';
                case 'f': return '\f';
                case 'n': return '\n';
                case 'r': return '\r';
                case 't': return '\t';
                case 'u':
                    at += 4;
                    return at < text.Length
                        ? (char)int.Parse(
                            text.Substring(at - 3, 4), NumberStyles.HexNumber, CultureInfo.InvariantCulture)
                        : throw Wrong();
                default: return text[at];
            }
        }

        private object Number()
        {
            var start = at;
            while (at < text.Length && "+-.eE0123456789".IndexOf(text[at]) >= 0)
            {
                at++;
            }

            var found = text.Substring(start, at - start);
            if (long.TryParse(found, NumberStyles.AllowLeadingSign, CultureInfo.InvariantCulture, out var whole))
            {
                return whole;
            }

            return double.TryParse(found, NumberStyles.Float, CultureInfo.InvariantCulture, out var number)
                ? (object)number
                : throw Wrong();
        }

        private object Word(string word, object value)
        {
            if (string.CompareOrdinal(text, at, word, 0, word.Length) != 0)
            {
                throw Wrong();
            }

            at += word.Length;
            return value;
        }

        private void Space()
        {
            while (at < text.Length && char.IsWhiteSpace(text[at]))
            {
                at++;
            }
        }

        private char Peek()
        {
            return at < text.Length ? text[at] : throw Wrong();
        }

        private void Expect(char letter)
        {
            if (Peek() != letter)
            {
                throw Wrong();
            }

            at++;
        }

        private FormatException Wrong()
        {
            return new FormatException("the JSON is malformed at character " + at);
        }
    }
}
