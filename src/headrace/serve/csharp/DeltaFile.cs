using System;
using System.Collections.Generic;

namespace Headrace
{
    /// <summary>A file that belongs to a table.</summary>
    public sealed class DeltaFile
    {
        /// <summary>Make a file.</summary>
        public DeltaFile(
            string path,
            long size,
            Dictionary<string, string> partitionValues,
            DateTime? modificationTime)
        {
            Path = path;
            Size = size;
            PartitionValues = partitionValues;
            ModificationTime = modificationTime;
        }

        /// <summary>Where the file is: absolute and decoded.</summary>
        public string Path { get; }

        /// <summary>Its size in bytes.</summary>
        public long Size { get; }

        /// <summary>The text of each partition value; null is null.</summary>
        public Dictionary<string, string> PartitionValues { get; }

        /// <summary>When it was made, in UTC.</summary>
        public DateTime? ModificationTime { get; }

        /// <summary>The path and the size.</summary>
        public override string ToString()
        {
            return Path + " (" + Size + " bytes)";
        }

        internal static DateTime FromMilliseconds(long milliseconds)
        {
            return DateTimeOffset.FromUnixTimeMilliseconds(milliseconds).UtcDateTime;
        }
    }

    /// <summary>A scan that was refused, or broke off.</summary>
    public sealed class DeltaScanException : Exception
    {
        /// <summary>Make an error of a code and a text.</summary>
        public DeltaScanException(string code, string message)
            : base(code + ": " + message)
        {
            Code = code;
        }

        /// <summary>Headrace's stable code, such as TABLE_NOT_SERVED.</summary>
        public string Code { get; }

        internal static DeltaScanException Parse(string text)
        {
            var colon = text.IndexOf(": ", StringComparison.Ordinal);
            return colon < 0
                ? new DeltaScanException("UNKNOWN", text)
                : new DeltaScanException(text.Substring(0, colon), text.Substring(colon + 2));
        }
    }
}
