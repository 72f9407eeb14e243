using System;

namespace Headrace
{
    /// <summary>The order in which a scan reads the log.</summary>
    public enum ScanStrategy
    {
        /// <summary>Headrace chooses.</summary>
        Auto,

        /// <summary>Newest commits first.</summary>
        Reverse,

        /// <summary>The checkpoint first.</summary>
        Forward
    }

    /// <summary>Which files a scan returns, and in which order it reads the log.</summary>
    public class ScanOptions
    {
        /// <summary>A predicate such as {"date": "2026-02-08"}; null means none.</summary>
        public string PredicateJson { get; set; }

        /// <summary>The maximum number of files; null or 0 means all.</summary>
        public int? Limit { get; set; }

        /// <summary>The order in which the log is read.</summary>
        public ScanStrategy Strategy { get; set; } = ScanStrategy.Auto;

        /// <summary>The version to read; null means the newest.</summary>
        public long? Version { get; set; }

        internal string ToRequest(string table)
        {
            var text = new System.Text.StringBuilder("{\"table\":").Append(JsonText.Quote(table));
            if (!string.IsNullOrWhiteSpace(PredicateJson))
            {
                text.Append(",\"where\":").Append(OneValue(PredicateJson));
            }

            if (Limit.HasValue)
            {
                text.Append(",\"limit\":").Append(Limit.Value);
            }

            if (Version.HasValue)
            {
                text.Append(",\"version\":").Append(Version.Value);
            }

            text.Append(",\"strategy\":\"").Append(Strategy.ToString().ToLowerInvariant());
            return text.Append("\",\"columns\":[\"uri\",\"size_bytes\",\"modified_ms\",\"partition_values\"]}")
                .ToString();
        }

        /// <summary>Returns a JSON text if it is one value, which cannot add keys to the request.</summary>
        private static string OneValue(string json)
        {
            try
            {
                JsonText.Parse(json);
                return json;
            }
            catch (FormatException error)
            {
                throw new DeltaScanException("MALFORMED_REQUEST", "PredicateJson: " + error.Message);
            }
        }
    }
}
