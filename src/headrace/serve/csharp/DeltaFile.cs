using System;
using System.Collections.Generic;

namespace Headrace
{
    /// <summary>A file that belongs to a table; a record for compilers of any version of C#.</summary>
    public sealed class DeltaFile : IEquatable<DeltaFile>
    {
        /// <summary>Creates a file.</summary>
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

        /// <summary>The absolute, percent-decoded path or URI.</summary>
        public string Path { get; }

        /// <summary>The size in bytes.</summary>
        public long Size { get; }

        /// <summary>The partition values as strings, by column; a null value is null.</summary>
        public Dictionary<string, string> PartitionValues { get; }

        /// <summary>The modification time, in UTC.</summary>
        public DateTime? ModificationTime { get; }

        /// <summary>Takes the file apart: <c>var (path, size, values, time) = file;</c>.</summary>
        public void Deconstruct(
            out string path,
            out long size,
            out Dictionary<string, string> partitionValues,
            out DateTime? modificationTime)
        {
            path = Path;
            size = Size;
            partitionValues = PartitionValues;
            modificationTime = ModificationTime;
        }

        /// <summary>Whether the four properties are equal; partition values must be the same object.</summary>
        public bool Equals(DeltaFile other)
        {
            return other != null
                && Path == other.Path
                && Size == other.Size
                && ReferenceEquals(PartitionValues, other.PartitionValues)
                && ModificationTime == other.ModificationTime;
        }

        /// <inheritdoc/>
        public override bool Equals(object other)
        {
            return Equals(other as DeltaFile);
        }

        /// <inheritdoc/>
        public override int GetHashCode()
        {
            return (Path, Size, ModificationTime).GetHashCode();
        }

        /// <summary>Returns the path and the size.</summary>
        public override string ToString()
        {
            return Path + " (" + Size + " bytes)";
        }

        internal static DateTime FromMilliseconds(long milliseconds)
        {
            return DateTimeOffset.FromUnixTimeMilliseconds(milliseconds).UtcDateTime;
        }
    }

    /// <summary>Thrown when a scan is refused or fails.</summary>
    public sealed class DeltaScanException : Exception
    {
        /// <summary>Creates an exception with a code and a message.</summary>
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
